import type { AssetsForJobs } from '../../assets/open.ts';
import type { PassSegment } from '../../catalogue/plan/plan.ts';
import { ApiError } from '../../http/errors.ts';
import type { Pixels } from '../../pixels/pixels.ts';
import type { ItemCall, Made } from './perform.ts';

/** Time that an item is worked on; waiting for a thread is not counted. */
const DEADLINE_MS = 60_000;

/** Runs a pass over the picture of an item, with the second assets that its steps read. */
export function createPassWork({ pixels, assets }: { pixels: Pixels; assets: AssetsForJobs }) {
  async function readLayer(accountId: string, assetId: string): Promise<Uint8Array<ArrayBuffer>> {
    try {
      return (await assets.read(accountId, assetId)).bytes;
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'asset_not_found') throw error;
      throw new ApiError('not_found', `The second asset ${assetId} is gone: send the job anew with another.`);
    }
  }

  return async (
    { job, signal }: ItemCall,
    { pass, layers }: PassSegment,
    bytes: Uint8Array<ArrayBuffer>,
  ): Promise<Made> => {
    const { accountId } = job;
    const files: Record<string, Uint8Array> = {};
    for (const { assetId } of layers) files[assetId] ??= await readLayer(accountId, assetId);
    const work = pixels.transform({
      bytes,
      pass,
      accountId,
      ...(layers.length > 0 && { layers: files }),
      deadlineMs: Date.now() + DEADLINE_MS,
      signal,
      work: 'job',
    });
    const { data, contentType } = await work.result;
    return { kind: 'image', bytes: data, contentType };
  };
}

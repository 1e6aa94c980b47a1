import { createHash } from 'node:crypto';
import type { Pixels } from '../../../imaging/pixels/pixels.ts';
import { asApiError } from '../../../platform/http/error-answers/failures.ts';
import { DuplicateKeyError } from '../../../platform/stores/documents/port.ts';
import type { Objects } from '../../../platform/stores/objects/port.ts';
import { type AssetDocument, type Labels, newAsset, newObjectKey } from '../asset.ts';
import type { AssetCollections } from '../collections/collections.ts';
import type { Removal } from '../removal.ts';
import type { AssetsStore } from '../store.ts';
import type { Facts } from './intake.ts';

interface OutputsOptions {
  store: AssetsStore;
  collections: AssetCollections;
  removal: Removal;
  objects: Objects;
  pixels: Pixels;
  now: () => Date;
}

/** Which item of which job an output is of, and how it is kept. */
interface OutputLabels extends Pick<Labels, 'collection' | 'expiresAt'> {
  accountId: string;
  jobId: string;
  itemIndex: number;
}

/** Work on the description of an output that comes without one. */
const DESCRIBE_TIMEOUT_MS = 60_000;

/**
 * Outputs of jobs as assets. An output is `made` first: whole, described and stored, but seen by nobody. Only when its
 * item has been settled with it is it shown; one whose item was settled by another is discarded. So each completed item
 * has one asset, whoever worked on it besides. Its place was reserved by the job.
 */
export interface Outputs {
  /**
   * Stores an output, unseen.
   * @param bytes are read and left as they are.
   * @param known what the bytes are, from the thread that made them; without it they are described here.
   * @param repeated runs the step that stores it, as often as it is worth: it stores the same asset each time.
   * @throws ApiError unsupported_format when it is no image; internal_error with reason storage_full or
   *   store_unavailable when its bytes are not stored.
   */
  make(
    labels: OutputLabels,
    bytes: Uint8Array<ArrayBuffer>,
    signal: AbortSignal,
    known?: Facts,
    repeated?: (step: () => Promise<void>) => Promise<void>,
  ): Promise<AssetDocument>;
  /** Shows outputs of one account whose items were settled with them. Showing twice is showing once. */
  show(accountId: string, assetIds: readonly string[], collection: string | null): Promise<void>;
  /** Removes an output that no item was settled with; what fails here is found by the sweep. */
  discard(accountId: string, assetId: string): Promise<void>;
  /** For the sweep: outputs that were made before an instant, and neither shown nor discarded since. */
  leftOver(before: Date, limit: number): Promise<AssetDocument[]>;
  /** Removes what a job made, when its records end; answers how many assets it removed of at most `limit`. */
  removeOf(accountId: string, jobId: string, limit: number): Promise<number>;
}

export function createOutputs({
  store,
  collections,
  removal,
  objects,
  pixels,
  now,
}: OutputsOptions): Outputs {
  async function describe(
    accountId: string,
    bytes: Uint8Array<ArrayBuffer>,
    signal: AbortSignal,
  ): Promise<Facts> {
    const deadlineMs = Date.now() + DESCRIBE_TIMEOUT_MS;
    const work = pixels.describe({ bytes: bytes.slice(), accountId, deadlineMs, signal, work: 'job' });
    const { image, metadata } = await work.result;
    return { image, metadata };
  }

  return {
    async make(
      labels,
      bytes,
      signal,
      known?: Facts,
      repeated: (step: () => Promise<void>) => Promise<void> = (step) => step(),
    ) {
      const { accountId, jobId, itemIndex, collection, expiresAt } = labels;
      const { image, metadata } = known ?? (await describe(accountId, bytes, signal));
      const objectKey = newObjectKey();
      const begin = { name: null, origin: 'job', jobId, itemIndex, collection, expiresAt } as const;
      const asset: AssetDocument = {
        ...newAsset(accountId, { ...begin, state: 'made', objectKey }, now()),
        status: 'DONE',
        digest: createHash('sha256').update(bytes).digest('hex'),
        image,
        metadata: JSON.stringify(metadata),
      };
      await repeated(async () => {
        const noted = store.insert(asset).catch(unlessThere);
        await objects
          .put(objectKey, bytes, 'application/octet-stream', noted)
          .catch(async (cause: unknown) => {
            await noted;
            throw asApiError(cause);
          });
      });
      return asset;
    },

    async show(accountId, assetIds, collection) {
      if (assetIds.length === 0) return;
      const shown = await store.showMade(accountId, assetIds);
      if (collection !== null && shown > 0) await collections.touch(accountId, collection);
    },

    async discard(accountId, assetId) {
      const asset = await store.discardMade(accountId, assetId);
      if (asset !== null) await removal.finish(asset);
    },

    leftOver(before, limit) {
      return store.madeBefore(before, limit);
    },

    async removeOf(accountId, jobId, limit) {
      const assets = await store.ofJob(accountId, jobId, limit);
      await removal.removeAll(assets);
      return assets.length;
    },
  };
}

/** The document was stored before, by a step whose answer was lost. */
function unlessThere(error: unknown): void {
  if (!(error instanceof DuplicateKeyError) || error.index !== '_id_') throw error;
}

import type { InstalledFonts } from '../../../imaging/fonts/fonts.ts';
import type { LayerFile, TransformCall, TransformResult } from '../../../imaging/images/image-call.ts';
import type { ImageWorkers } from '../../../imaging/images/image-workers.ts';
import type { Readers } from '../../../imaging/readers/readers.ts';
import type { ReadingTask } from '../../../imaging/readers/reading.ts';
import { ApiError } from '../../../platform/http/errors/errors.ts';
import type { CallWarning } from '../../../platform/http/hooks/warnings.ts';
import type { OpMeter } from '../../../platform/metrics/work.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import type { JobAssets } from '../../assets/open.ts';
import { comparisonWarnings } from '../../transforms/compare.ts';
import { findPassWarnings } from '../../transforms/fonts.ts';
import type { PassSegment } from '../plan.ts';
import { isBatchJob } from '../rules.ts';
import type { ItemCall, SegmentResult } from './perform.ts';

/** Deadline for the work on an item. The wait for a thread does not count. */
const DEADLINE_MS = 60_000;

export interface PassWorkOptions {
  fonts: Pick<InstalledFonts, 'findWarnings'>;
  imageWorkers: ImageWorkers;
  readers: Readers;
  assets: JobAssets;
  meters: { ops: Pick<OpMeter, 'ran'> };
}

/** Makes the function that runs a pass over the picture of an item, with the second assets that its steps read. */
export function createPassWork({ imageWorkers, readers, assets, meters, fonts }: PassWorkOptions) {
  async function readSecondAsset(accountId: string, assetId: string): Promise<Uint8Array<ArrayBuffer>> {
    try {
      return (await assets.read(accountId, assetId)).bytes;
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'asset_not_found') throw error;
      const message = `The second asset ${assetId} is gone: send the job again with another.`;
      throw new ApiError('not_found', message);
    }
  }

  function workTerms({ job, signal, waitSignal }: ItemCall) {
    const deadlineMs = Date.now() + DEADLINE_MS;
    const { accountId } = job;
    return { accountId, deadlineMs, signal, waitSignal, work: 'job' as const, inBatch: isBatchJob(job) };
  }

  async function runTransform(
    call: ItemCall,
    pass: PassSegment['pass'],
    { layers }: PassSegment,
    bytes: Uint8Array<ArrayBuffer>,
    options: Pick<TransformCall, 'describes'> = {},
  ): Promise<Omit<TransformResult, 'warnings'> & { warnings: CallWarning[] }> {
    const { accountId } = call.job;
    const files: Record<string, LayerFile> = {};
    for (const { assetId } of layers) files[assetId] ??= { bytes: await readSecondAsset(accountId, assetId) };
    const bytesIn = bytes.length;
    const second = layers.length > 0 ? { layers: files } : {};
    const result = await imageWorkers.transform({ ...workTerms(call), bytes, pass, ...second, ...options })
      .result;
    const { queueMs, timings, data } = result;
    const op = call.job.op ?? 'preset';
    meters.ops.ran({ op, work: 'job', bytesIn, bytesOut: data.length, queueMs, ...timings });
    return { ...result, warnings: await findPassWarnings({ fonts }, pass, result) };
  }

  /** The lossless result of the steps, for a segment that returns something about it. */
  async function renderLossless(
    call: ItemCall,
    segment: PassSegment,
    input: Uint8Array<ArrayBuffer>,
  ): Promise<{ data: Uint8Array<ArrayBuffer>; warnings: CallWarning[] }> {
    const pass = { ...segment.pass, encode: { format: 'png' as const } };
    return pass.steps.length === 0 ? { data: input, warnings: [] } : runTransform(call, pass, segment, input);
  }

  /** Compares the result of the steps with another asset. */
  async function compareResult(
    call: ItemCall,
    segment: PassSegment,
    input: Uint8Array<ArrayBuffer>,
    otherId: string,
  ): Promise<SegmentResult> {
    const { data: bytes, warnings } = await renderLossless(call, segment, input);
    const other = await readSecondAsset(call.job.accountId, otherId);
    const { isScored } = segment;
    const comparison = await imageWorkers.compare({ ...workTerms(call), bytes, other, isScored }).result;
    const { difference: output } = comparison;
    return { kind: 'json', output, warnings: [...warnings, ...comparisonWarnings(comparison)] };
  }

  /** Reads text or codes from the result of the steps. */
  async function readResult(
    call: ItemCall,
    segment: PassSegment,
    input: Uint8Array<ArrayBuffer>,
    reading: ReadingTask,
  ): Promise<SegmentResult> {
    const { data: bytes, warnings } = await renderLossless(call, segment, input);
    const { output } = await readers.read({ ...workTerms(call), bytes, reading }).result;
    return { kind: 'json', output, warnings };
  }

  return async (
    call: ItemCall,
    segment: PassSegment,
    bytes: Uint8Array<ArrayBuffer>,
  ): Promise<SegmentResult> => {
    if (segment.compareWith !== undefined) return compareResult(call, segment, bytes, segment.compareWith);
    if (segment.reads !== undefined) return readResult(call, segment, bytes, segment.reads);
    const options = { describes: isLastSegment(call, segment) };
    const result = await runTransform(call, segment.pass, segment, bytes, options);
    const { data, contentType, achieved, facts, warnings } = result;
    return {
      kind: 'image',
      bytes: data,
      contentType,
      warnings,
      ...withoutAbsentFields({ facts, achieved: achieved && { ...achieved } }),
    };
  };
}

/** Whether the result of a segment is the output of the item, and not the input of another segment. */
function isLastSegment({ item, definition }: ItemCall, { index }: PassSegment): boolean {
  return definition.variants[item.variant]?.segments.length === index + 1;
}

import type { LayerFile, TransformCall, TransformResult } from '../../../imaging/images/image-call.ts';
import type { Readers } from '../../../imaging/readers/readers.ts';
import type { ReadingTask } from '../../../imaging/readers/reading.ts';
import { ApiError } from '../../../platform/http/errors/errors.ts';
import type { CallWarning } from '../../../platform/http/hooks/warnings.ts';
import type { OpMeter } from '../../../platform/metrics/work.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import { comparisonWarnings } from '../../transforms/compare.ts';
import { findPassWarnings } from '../../transforms/fonts.ts';
import type { PassSegment } from '../plan.ts';
import { isBatchJob } from '../rules.ts';
import type { PageWorkOptions } from './page.ts';
import type { ItemCall, SegmentResult } from './perform.ts';

/** How long the work on an item may take, in milliseconds, without the wait for a thread. */
const PASS_TIMEOUT_MS = 60_000;

export interface PassWorkOptions extends Pick<PageWorkOptions, 'fonts' | 'imageWorkers' | 'assets'> {
  readers: Readers;
  meters: { ops: Pick<OpMeter, 'recordRun'> };
}

/** Makes the function that runs a pass over the picture of an item. It also reads the additional assets of the pass. */
export function createPassWork(options: PassWorkOptions) {
  return (call: ItemCall, segment: PassSegment, input: Uint8Array<ArrayBuffer>): Promise<SegmentResult> =>
    runPass({ options, call, segment, input });
}

/** The pass of one segment over the picture of one item. */
interface PassRun {
  options: PassWorkOptions;
  call: ItemCall;
  segment: PassSegment;
  input: Uint8Array<ArrayBuffer>;
}

async function runPass(run: PassRun): Promise<SegmentResult> {
  const { pass, compareWith, reads } = run.segment;
  if (compareWith !== undefined) return compareResult(run, compareWith);
  if (reads !== undefined) return readResult(run, reads);
  const result = await runTransform(run, pass, { describes: isLastSegment(run) });
  const { data, contentType, achieved, facts, warnings } = result;
  return {
    kind: 'image',
    bytes: data,
    contentType,
    warnings,
    ...withoutAbsentFields({
      facts,
      achieved: achieved && { ...achieved, format: contentType.replace('image/', '') },
    }),
  };
}

/** Compares the result of the steps with another asset. */
async function compareResult(run: PassRun, otherId: string): Promise<SegmentResult> {
  const { data: bytes, warnings } = await renderLossless(run);
  const other = await readAdditionalAsset(run, otherId);
  const { isScored } = run.segment;
  const call = { ...workTerms(run), bytes, other, isScored };
  const comparison = await run.options.imageWorkers.compare(call).result;
  return {
    kind: 'json',
    output: comparison.difference,
    warnings: [...warnings, ...comparisonWarnings(comparison)],
  };
}

/** Reads text or codes from the result of the steps. */
async function readResult(run: PassRun, reading: ReadingTask): Promise<SegmentResult> {
  const { data: bytes, warnings } = await renderLossless(run);
  const read = await run.options.readers.read({ ...workTerms(run), bytes, reading }).result;
  return { kind: 'json', output: read.output, warnings: [...warnings, ...read.warnings] };
}

/** The result of the steps in a lossless format, for a segment that compares or reads it. */
async function renderLossless(
  run: PassRun,
): Promise<{ data: Uint8Array<ArrayBuffer>; warnings: CallWarning[] }> {
  const { pass } = run.segment;
  if (pass.steps.length === 0) return { data: run.input, warnings: [] };
  return runTransform(run, { ...pass, encode: { format: 'png' } });
}

async function runTransform(
  run: PassRun,
  pass: PassSegment['pass'],
  options: Pick<TransformCall, 'describes'> = {},
): Promise<Omit<TransformResult, 'warnings'> & { warnings: CallWarning[] }> {
  const { imageWorkers, meters, fonts } = run.options;
  const bytes = run.input;
  const layers = await readLayers(run);
  // The length is read first, because the bytes are transferred to the worker, which empties this array.
  const bytesIn = bytes.length;
  const call = { ...workTerms(run), bytes, pass, ...layers, ...options };
  const result = await imageWorkers.transform(call).result;
  const { queueMs, timings, data } = result;
  const op = run.call.job.op ?? 'preset';
  meters.ops.recordRun({ op, work: 'job', bytesIn, bytesOut: data.length, queueMs, ...timings });
  return { ...result, warnings: await findPassWarnings({ fonts }, pass, result) };
}

async function readLayers(run: PassRun): Promise<Pick<TransformCall, 'layers'>> {
  const layers: Record<string, LayerFile> = {};
  for (const { assetId } of run.segment.layers)
    layers[assetId] ??= { bytes: await readAdditionalAsset(run, assetId) };
  return run.segment.layers.length > 0 ? { layers } : {};
}

async function readAdditionalAsset(run: PassRun, assetId: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return (await run.options.assets.reader.read(run.call.job.accountId, assetId)).bytes;
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'asset_not_found') throw error;
    const message = `The second asset ${assetId} is gone: send the job again with another.`;
    throw new ApiError('not_found', message);
  }
}

/** The account, the deadline and the abort signals of the work. The deadline counts from now. */
function workTerms(run: PassRun) {
  const { job, signal, waitSignal } = run.call;
  return {
    accountId: job.accountId,
    deadlineMs: Date.now() + PASS_TIMEOUT_MS,
    signal,
    waitSignal,
    work: 'job' as const,
    inBatch: isBatchJob(job),
  };
}

/** Whether the result is the output of the item. Otherwise it is the input of the next segment. */
function isLastSegment(run: PassRun): boolean {
  const { item, definition } = run.call;
  return definition.variants[item.variant]?.segments.length === run.segment.index + 1;
}

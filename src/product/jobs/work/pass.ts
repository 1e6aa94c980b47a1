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

/** How long the work on an item may take, in milliseconds, without the wait for a thread. */
const DEADLINE_MS = 60_000;

export interface PassWorkOptions {
  fonts: Pick<InstalledFonts, 'findWarnings'>;
  imageWorkers: ImageWorkers;
  readers: Readers;
  assets: JobAssets;
  meters: { ops: Pick<OpMeter, 'recordRun'> };
}

/** Makes the function that runs a pass over the picture of an item. It also reads the second assets of the pass. */
export function createPassWork(options: PassWorkOptions) {
  return (call: ItemCall, segment: PassSegment, input: Uint8Array<ArrayBuffer>): Promise<SegmentResult> =>
    new PassRun(options, call, segment, input).run();
}

class PassRun {
  readonly #options: PassWorkOptions;
  readonly #call: ItemCall;
  readonly #segment: PassSegment;
  readonly #input: Uint8Array<ArrayBuffer>;

  constructor(
    options: PassWorkOptions,
    call: ItemCall,
    segment: PassSegment,
    input: Uint8Array<ArrayBuffer>,
  ) {
    this.#options = options;
    this.#call = call;
    this.#segment = segment;
    this.#input = input;
  }

  async run(): Promise<SegmentResult> {
    const { pass, compareWith, reads } = this.#segment;
    if (compareWith !== undefined) return this.#compareResult(compareWith);
    if (reads !== undefined) return this.#readResult(reads);
    const result = await this.#runTransform(pass, { describes: this.#isLastSegment() });
    const { data, contentType, achieved, facts, warnings } = result;
    return {
      kind: 'image',
      bytes: data,
      contentType,
      warnings,
      ...withoutAbsentFields({ facts, achieved: achieved && { ...achieved } }),
    };
  }

  /** Compares the result of the steps with another asset. */
  async #compareResult(otherId: string): Promise<SegmentResult> {
    const { data: bytes, warnings } = await this.#renderLossless();
    const other = await this.#readSecondAsset(otherId);
    const { isScored } = this.#segment;
    const call = { ...this.#workTerms(), bytes, other, isScored };
    const comparison = await this.#options.imageWorkers.compare(call).result;
    return {
      kind: 'json',
      output: comparison.difference,
      warnings: [...warnings, ...comparisonWarnings(comparison)],
    };
  }

  /** Reads text or codes from the result of the steps. */
  async #readResult(reading: ReadingTask): Promise<SegmentResult> {
    const { data: bytes, warnings } = await this.#renderLossless();
    const read = await this.#options.readers.read({ ...this.#workTerms(), bytes, reading }).result;
    return { kind: 'json', output: read.output, warnings: [...warnings, ...read.warnings] };
  }

  /** The result of the steps in a lossless format, for a segment that compares or reads it. */
  async #renderLossless(): Promise<{ data: Uint8Array<ArrayBuffer>; warnings: CallWarning[] }> {
    const { pass } = this.#segment;
    if (pass.steps.length === 0) return { data: this.#input, warnings: [] };
    return this.#runTransform({ ...pass, encode: { format: 'png' } });
  }

  async #runTransform(
    pass: PassSegment['pass'],
    options: Pick<TransformCall, 'describes'> = {},
  ): Promise<Omit<TransformResult, 'warnings'> & { warnings: CallWarning[] }> {
    const { imageWorkers, meters, fonts } = this.#options;
    const bytes = this.#input;
    const layers = await this.#readLayers();
    // The length is read first, because the bytes are transferred to the worker, which empties this array.
    const bytesIn = bytes.length;
    const call = { ...this.#workTerms(), bytes, pass, ...layers, ...options };
    const result = await imageWorkers.transform(call).result;
    const { queueMs, timings, data } = result;
    const op = this.#call.job.op ?? 'preset';
    meters.ops.recordRun({ op, work: 'job', bytesIn, bytesOut: data.length, queueMs, ...timings });
    return { ...result, warnings: await findPassWarnings({ fonts }, pass, result) };
  }

  async #readLayers(): Promise<Pick<TransformCall, 'layers'>> {
    const layers: Record<string, LayerFile> = {};
    for (const { assetId } of this.#segment.layers)
      layers[assetId] ??= { bytes: await this.#readSecondAsset(assetId) };
    return this.#segment.layers.length > 0 ? { layers } : {};
  }

  async #readSecondAsset(assetId: string): Promise<Uint8Array<ArrayBuffer>> {
    try {
      return (await this.#options.assets.read(this.#call.job.accountId, assetId)).bytes;
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'asset_not_found') throw error;
      const message = `The second asset ${assetId} is gone: send the job again with another.`;
      throw new ApiError('not_found', message);
    }
  }

  /** Who asks for the work, until when, and how it can be aborted. The deadline counts from now. */
  #workTerms() {
    const { job, signal, waitSignal } = this.#call;
    return {
      accountId: job.accountId,
      deadlineMs: Date.now() + DEADLINE_MS,
      signal,
      waitSignal,
      work: 'job' as const,
      inBatch: isBatchJob(job),
    };
  }

  /** Whether the result is the output of the item. Otherwise it is the input of the next segment. */
  #isLastSegment(): boolean {
    const { item, definition } = this.#call;
    return definition.variants[item.variant]?.segments.length === this.#segment.index + 1;
  }
}

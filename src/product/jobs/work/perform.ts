import { ApiError } from '../../../platform/http/errors/errors.ts';
import { asApiError } from '../../../platform/http/errors/failures.ts';
import type { CallWarning } from '../../../platform/http/hooks/warnings.ts';
import { StorageFullError } from '../../../platform/stores/documents/port.ts';
import { isStoreOutage, retryThroughOutages } from '../../../platform/stores/outages.ts';
import { distinctValues } from '../../../platform/values/json.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import { MEGABYTE_BYTES } from '../../../platform/values/units.ts';
import type { ExaminedImage } from '../../assets/uploads/intake.ts';
import type { JobsContext } from '../context.ts';
import { type JobDefinition, sandboxWarningsOf } from '../definitions.ts';
import { newIntermediateKey } from '../intermediates.ts';
import type { ChainProgress, ClaimedItem, ItemOutcome, JobDocument } from '../job.ts';
import type { ModelSegment, PassSegment, PlanSegment } from '../plan.ts';
import {
  ItemAbandonedError,
  ItemStoppedError,
  type ItemWorkFailure,
  itemTimesOf,
  itemWorkFailureOf,
  type PerformItemWork,
  type WorkSignals,
} from '../rules.ts';

/** A picture that a segment or a page has made. */
interface ImageResult {
  kind: 'image';
  bytes: Uint8Array<ArrayBuffer>;
  contentType: string;
  /** The facts about the picture, if the worker has returned them. */
  facts?: ExaminedImage;
  achieved?: Record<string, number | boolean | string>;
}

/** The result of a segment, or of a page, for one item, with its warnings. */
export type SegmentResult = { warnings?: CallWarning[] } & (ImageResult | { kind: 'json'; output: unknown });

/**
 * Reads the input of a segment; null for an item without input. A segment calls it at most once, and only if it needs
 * the input.
 */
export type ReadInput = () => Promise<Uint8Array<ArrayBuffer> | null>;

export interface ItemCall extends WorkSignals {
  item: ClaimedItem;
  job: JobDocument;
  definition: JobDefinition;
}

/** The functions that work on one item, by kind of work. */
export interface SegmentWorkers {
  runPass: (call: ItemCall, segment: PassSegment, input: Uint8Array<ArrayBuffer>) => Promise<SegmentResult>;
  runModel: (call: ItemCall, segment: ModelSegment, readInput: ReadInput) => Promise<SegmentResult>;
  runPage: (call: ItemCall) => Promise<SegmentResult>;
}

type WorkContext = Pick<JobsContext, 'jobs' | 'items' | 'definitions' | 'objects' | 'assets' | 'now' | 'log'>;

/** The failure of an item for a reason other than an API error, such as a failure of a provider. */
export class ItemFailureError extends Error {
  override readonly name = 'ItemFailureError';
  readonly failure: ItemWorkFailure;
  constructor(failure: ItemWorkFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** Thrown when no slot was free for the work. The item is put back, and tried again after a pause. */
export class ItemPutBackError extends Error {
  override readonly name = 'ItemPutBackError';
  readonly pauseMs: number;
  constructor(pauseMs: number) {
    super('There was no free slot for the work.');
    this.pauseMs = pauseMs;
  }
}

const MAX_INTERMEDIATE_BYTES = 256 * MEGABYTE_BYTES;
/** The maximum number of warnings of an item. If there are more, the last one says how many are left out. */
const MAX_ITEM_WARNINGS = 50;
/** The only segment of a render: its page. */
const PAGE_SEGMENT = { runs: 'page', index: 0 } as const;
type WorkSegment = PlanSegment | typeof PAGE_SEGMENT;
const NO_PROGRESS: ChainProgress = { segment: 0, objectKey: null, runs: 0, credits: 0 };

/**
 * The work on an item: its segments in order, or its page. The result of a segment is the input of the next one. It is
 * stored and recorded in the item, so that a retry or a resume continues after the last finished segment.
 */
export class ItemPerformer {
  readonly #context: WorkContext;
  readonly #workers: SegmentWorkers;

  constructor(context: WorkContext, workers: SegmentWorkers) {
    this.#context = context;
    this.#workers = workers;
  }

  perform: PerformItemWork = async (item, job, signals) => {
    try {
      const definition = await this.#context.definitions.find(job._id);
      const call = { item, job, definition, ...signals };
      return { outcome: await this.#runSegments(call) };
    } catch (error) {
      if (error instanceof ItemStoppedError) return { outcome: stoppedOutcome(item, this.#context.now()) };
      if (error instanceof ItemPutBackError) return { putBackMs: error.pauseMs };
      if (isStoreOutage(error)) return { outage: error };
      return { failure: this.#failureOf(error, job) };
    }
  };

  async #readInput({ item }: ItemCall, progress: ChainProgress): Promise<Uint8Array<ArrayBuffer> | null> {
    if (progress.objectKey !== null) {
      const bytes = await this.#context.objects.read(progress.objectKey, MAX_INTERMEDIATE_BYTES);
      if (bytes !== null) return new Uint8Array(bytes);
      throw new ApiError('internal_error', 'The result of the previous segment could not be read.');
    }
    if (item.assetId === null) return null;
    return (await this.#context.assets.reader.read(item.accountId, item.assetId)).bytes;
  }

  async #runSegment(call: ItemCall, segment: WorkSegment, readInput: ReadInput): Promise<SegmentResult> {
    if (segment.runs === 'page') return this.#workers.runPage(call);
    if (segment.runs === 'model') return this.#workers.runModel(call, segment, readInput);
    const bytes = await readInput();
    if (bytes === null) throw new Error('A pass has an image to work on.');
    return this.#workers.runPass(call, segment, bytes);
  }

  /** Stores the result of a segment for the next one, and deletes the result of the previous segment. */
  async #keepIntermediate(
    { item, signal }: ItemCall,
    result: SegmentResult,
    before: ChainProgress,
    after: ChainProgress,
    segment: WorkSegment,
  ) {
    if (result.kind === 'json') throw new Error('Only the last segment answers JSON.');
    const { bytes, contentType } = result;
    const objectKey = newIntermediateKey(item.jobId);
    const store = storageStepRunner(segment, signal);
    await store(() => this.#context.objects.put(objectKey, bytes, contentType));
    const progress = { ...after, objectKey };
    if (!(await store(() => this.#context.items.recordProgress(item, progress)))) {
      await this.#context.objects.delete(objectKey);
      throw new ItemAbandonedError('The claim was lost between two segments.');
    }
    // An inherited object stays, because the earlier attempt may still be read and resumed. An object that cannot be
    // deleted now is deleted together with the job.
    if (before.objectKey !== null && before.objectKey !== item.inherits)
      await this.#context.objects.delete(before.objectKey).catch(() => undefined);
    return progress;
  }

  /** Stores the picture that an item made, if it made one. Returns the outcome of the completed item. */
  async #storeResult(
    call: ItemCall,
    result: SegmentResult,
    { runs, credits, warnings = [] }: ChainProgress,
    segment: WorkSegment,
  ): Promise<ItemOutcome> {
    const { item, definition } = call;
    const variants = definition.variants.slice(item.variant, item.variant + 1);
    const made =
      result.kind === 'json'
        ? { output: JSON.stringify(result.output) }
        : await this.#storeOutput(call, result, sandboxWarningsOf(variants), segment);
    return {
      status: 'COMPLETED',
      ...made,
      ...storedWarnings([...variants.flatMap((variant) => variant.warnings ?? []), ...warnings]),
      ...itemTimesOf(item, this.#context.now()),
      runs,
      credits,
    };
  }

  /** Stores the picture that an item made. It stays hidden until the outcome of the item is recorded. */
  async #storeOutput(
    { item, job, signal }: ItemCall,
    { bytes, facts, achieved }: ImageResult,
    warnings: readonly CallWarning[],
    segment: WorkSegment,
  ) {
    const { _id: jobId, accountId, collection, expiresAt } = job;
    const labels = {
      ...{ accountId, jobId, itemIndex: item.index, collection, expiresAt },
      ...(warnings.length > 0 && { warnings }),
    };
    const store = storageStepRunner(segment, signal);
    const { outputs } = this.#context.assets;
    const { _id: resultAssetId } = await outputs.make(labels, bytes, signal, facts, store);
    return { resultAssetId, ...withoutAbsentFields({ achieved }) };
  }

  async #runSegments(call: ItemCall): Promise<ItemOutcome> {
    const { item, job, definition, waitSignal } = call;
    const variant = definition.variants[item.variant];
    if (variant === undefined) throw new Error(`Item ${item._id} has a variant that its job has not.`);
    let progress = item.progress ?? NO_PROGRESS;
    let readInput: ReadInput = () => this.#readInput(call, progress);
    const segments = definition.takes === 'rows' ? [PAGE_SEGMENT] : variant.segments;
    for (const segment of segments.slice(progress.segment)) {
      const isFirst = segment.index === (item.progress?.segment ?? 0);
      waitSignal.throwIfAborted();
      // A job that is being cancelled starts no further segment.
      if (!isFirst && (await this.#context.jobs.get(job._id))?.status === 'CANCELLING')
        throw new ItemStoppedError();
      try {
        const result = await this.#runSegment(call, segment, readInput);
        const after = {
          segment: segment.index + 1,
          objectKey: null,
          runs: progress.runs + (segment.runs === 'model' ? 0 : 1),
          credits: progress.credits + (variant.credits[segment.index] ?? 0),
          ...storedWarnings([...(progress.warnings ?? []), ...(result.warnings ?? [])]),
        };
        if (segment.index === segments.length - 1)
          return await this.#storeResult(call, result, after, segment);
        progress = await this.#keepIntermediate(call, result, progress, after, segment);
        readInput = async () => (result.kind === 'image' ? result.bytes : null);
      } catch (error) {
        throw wasNotTried(error) ? error : this.#failureAtSegment(error, segment, progress, job);
      }
    }
    throw new Error(`Item ${item._id} has no segment left to run.`);
  }

  /**
   * Makes the failure of a segment. It contains the usage of the item so far and, in a chain, the index of the failed
   * segment.
   */
  #failureAtSegment(
    error: unknown,
    segment: WorkSegment,
    { runs, credits }: ChainProgress,
    job: JobDocument,
  ): ItemFailureError {
    const failure = this.#failureOf(error, job);
    // A pass or a page that was begun is billed as one run, unless the service caused the failure.
    const isPaid = segment.runs !== 'model' && !failure.mayPass && failure.isUnstarted !== true;
    return new ItemFailureError({
      ...failure,
      usage: { runs: runs + (isPaid ? 1 : 0), credits },
      ...(job.type === 'chain' && { failedStep: segment.index }),
    });
  }

  #failureOf(error: unknown, { type }: JobDocument): ItemWorkFailure {
    if (error instanceof ItemFailureError) return error.failure;
    if (error instanceof ApiError) return itemWorkFailureOf(error);
    if (error instanceof StorageFullError) return itemWorkFailureOf(asApiError(error));
    if (!(error instanceof ItemAbandonedError))
      this.#context.log.warn({ err: error, type }, 'Work on an item failed unexpectedly');
    return {
      code: 'internal_error',
      message: 'The item failed for a reason of the service itself; it can be resumed.',
      mayPass: true,
    };
  }
}

/** The warnings to store, without duplicates. If there are too many, the last one says how many are left out. */
function storedWarnings(warnings: readonly CallWarning[]): { warnings?: CallWarning[] } {
  const all = distinctValues(warnings);
  if (all.length === 0) return {};
  const more: CallWarning = { code: 'more', name: String(all.length - MAX_ITEM_WARNINGS + 1) };
  return { warnings: all.length > MAX_ITEM_WARNINGS ? [...all.slice(0, MAX_ITEM_WARNINGS - 1), more] : all };
}

/** Whether an error means that the work was not tried at all. */
function wasNotTried(error: unknown): boolean {
  return error instanceof ItemPutBackError || error instanceof ItemStoppedError || isStoreOutage(error);
}

/**
 * The outcome of an item that was stopped because its job is being cancelled. The usage of its finished segments is
 * added at the end of the job.
 */
function stoppedOutcome(item: ClaimedItem, now: Date): ItemOutcome {
  return { status: 'CANCELLED', ...itemTimesOf(item, now), runs: 0, credits: 0 };
}

/**
 * Returns a function that runs the step which stores a segment's result. After a model, the step is repeated until the
 * store responds, because the answer is paid for. After a pass, it is not repeated, because the next owner of the item
 * can make the result again.
 */
function storageStepRunner(segment: WorkSegment, signal: AbortSignal) {
  return <T>(store: () => Promise<T>) =>
    segment.runs === 'model' ? retryThroughOutages(store, signal) : store();
}

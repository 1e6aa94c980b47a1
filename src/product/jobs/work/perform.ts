import { ApiError } from '../../../platform/http/errors/errors.ts';
import { asApiError } from '../../../platform/http/errors/failures.ts';
import { StorageFullError } from '../../../platform/stores/documents/port.ts';
import type { Objects } from '../../../platform/stores/objects/port.ts';
import { isOutage, throughOutages } from '../../../platform/stores/outages.ts';
import type { Log } from '../../../platform/tracing/log.ts';
import { present } from '../../../platform/values/present.ts';
import { MEGABYTE } from '../../../platform/values/units.ts';
import type { AssetsForJobs } from '../../assets/open.ts';
import type { DescribedImage } from '../../assets/uploads/intake.ts';
import type { ModelSegment, PassSegment, Segment } from '../../catalogue/plan/plan.ts';
import type { Definition } from '../definitions/definition.ts';
import type { Definitions } from '../definitions/definitions.ts';
import { newIntermediateKey } from '../intermediates.ts';
import { Abandoned, type Perform, type WorkResult } from '../item-work.ts';
import type { ItemsStore } from '../items-store.ts';
import type { Claimed, JobDocument, Outcome, Progress } from '../job.ts';
import { type FailedWork, failureOf, timesOf } from '../rules.ts';

/** The result of a segment, or of a page, for one item. */
export type SegmentResult =
  | {
      kind: 'image';
      bytes: Uint8Array<ArrayBuffer>;
      contentType: string;
      /** The facts of the bytes, where they are known already. */
      facts?: DescribedImage;
      achieved?: Record<string, number>;
    }
  | { kind: 'json'; output: unknown };

/** Reads the input of a segment; null where an item has none. Called at most once, when it is needed. */
export type Input = () => Promise<Uint8Array<ArrayBuffer> | null>;

/** The context of the work on one item. */
export interface ItemCall {
  item: Claimed;
  job: JobDocument;
  definition: Definition;
  signal: AbortSignal;
}

export interface PerformOptions {
  definitions: Definitions;
  items: ItemsStore;
  objects: Objects;
  assets: AssetsForJobs;
  runPass: (call: ItemCall, segment: PassSegment, input: Uint8Array<ArrayBuffer>) => Promise<SegmentResult>;
  runModel: (call: ItemCall, segment: ModelSegment, input: Input) => Promise<SegmentResult>;
  runPage: (call: ItemCall) => Promise<SegmentResult>;
  /** Whether the job is being cancelled: an item then starts no further segment. */
  isStopping: (jobId: string) => Promise<boolean>;
  now: () => Date;
  log: Log;
}

/** A failure of the work that is not an error of the API, such as one of a provider. */
export class ItemFailure extends Error {
  override readonly name = 'ItemFailure';
  readonly failure: FailedWork;
  constructor(failure: FailedWork) {
    super(failure.message);
    this.failure = failure;
  }
}

/** No slot was free for the work: it was not tried, and is retried after a pause. */
export class PutBack extends Error {
  override readonly name = 'PutBack';
  readonly pauseMs: number;
  constructor(pauseMs: number) {
    super('There was no free slot for the work.');
    this.pauseMs = pauseMs;
  }
}

const MAX_INTERMEDIATE_BYTES = 256 * MEGABYTE;
const NOTHING_DONE: Progress = { segment: 0, objectKey: null, runs: 0, credits: 0 };

/**
 * The work on an item: its page, or its segments in order. The result of a segment is the input of the next. It is
 * stored and recorded in the item, so that a retry or a resume begins behind the last finished segment.
 */
export function createPerform(options: PerformOptions): Perform {
  const { definitions, items, objects, assets, now, log } = options;

  async function readInput({ item }: ItemCall, progress: Progress): Promise<Uint8Array<ArrayBuffer> | null> {
    if (progress.objectKey !== null) {
      const bytes = await objects.read(progress.objectKey, MAX_INTERMEDIATE_BYTES);
      if (bytes !== null) return new Uint8Array(bytes);
      throw new ApiError('internal_error', 'The result of the previous segment could not be read.');
    }
    if (item.assetId === null) return null;
    return (await assets.read(item.accountId, item.assetId)).bytes;
  }

  async function run(call: ItemCall, segment: Segment, input: Input): Promise<SegmentResult> {
    if (segment.runs === 'model') return options.runModel(call, segment, input);
    const bytes = await input();
    if (bytes === null) throw new Error('A pass has an image to work on.');
    return options.runPass(call, segment, bytes);
  }

  /** Stores the result of a segment for the next one, and deletes the one before it. */
  async function keepIntermediate(
    { item, signal }: ItemCall,
    result: SegmentResult,
    before: Progress,
    after: Progress,
    segment: Segment,
  ) {
    if (result.kind === 'json') throw new Error('Only the last segment answers JSON.');
    const { bytes, contentType } = result;
    const objectKey = newIntermediateKey(item.jobId);
    const store = storing(segment, signal);
    await store(() => objects.put(objectKey, bytes, contentType));
    const progress = { ...after, objectKey };
    if (!(await store(() => items.noteProgress(item, progress)))) {
      await objects.delete(objectKey);
      throw new Abandoned('The claim was lost between two segments.');
    }
    // An object of an earlier attempt stays, because that attempt can be read and resumed by itself. An object that
    // cannot be deleted now goes with the job.
    if (before.objectKey !== null && before.objectKey !== item.inherits)
      await objects.delete(before.objectKey).catch(() => undefined);
    return progress;
  }

  async function storeOutcome(
    { item, job, signal }: ItemCall,
    result: SegmentResult,
    { runs, credits }: Progress,
    segment?: Segment,
  ): Promise<Outcome> {
    if (result.kind === 'json') {
      const output = JSON.stringify(result.output);
      return { status: 'COMPLETED', output, ...timesOf(item, now()), runs, credits };
    }
    const { collection, expiresAt, _id: jobId, accountId } = job;
    const labels = { accountId, jobId, itemIndex: item.index, collection, expiresAt };
    const { bytes, facts, achieved } = result;
    const store = storing(segment, signal);
    const { _id: resultAssetId } = await assets.outputs.make(labels, bytes, signal, facts, store);
    const ended = timesOf(item, now());
    return { status: 'COMPLETED', resultAssetId, ...present({ achieved }), ...ended, runs, credits };
  }

  async function runSegments(call: ItemCall): Promise<Outcome> {
    const { item, job, definition } = call;
    const variant = definition.variants[item.variant];
    if (variant === undefined) throw new Error(`Item ${item._id} has a variant that its job has not.`);
    let progress = item.progress ?? NOTHING_DONE;
    let input: Input = () => readInput(call, progress);
    for (const segment of variant.segments.slice(progress.segment)) {
      const isFirst = segment.index === (item.progress?.segment ?? 0);
      if (!isFirst && (await options.isStopping(job._id))) {
        return { status: 'CANCELLED', ...timesOf(item, now()), runs: 0, credits: 0 };
      }
      try {
        const result = await run(call, segment, input);
        const after = {
          segment: segment.index + 1,
          objectKey: null,
          runs: progress.runs + (segment.runs === 'pass' ? 1 : 0),
          credits: progress.credits + (variant.credits[segment.index] ?? 0),
        };
        if (segment.index === variant.segments.length - 1)
          return await storeOutcome(call, result, after, segment);
        progress = await keepIntermediate(call, result, progress, after, segment);
        input = async () => (result.kind === 'image' ? result.bytes : null);
      } catch (error) {
        throw error instanceof PutBack || isOutage(error) ? error : atSegment(error, segment, progress, job);
      }
    }
    throw new Error(`Item ${item._id} has no segment left to run.`);
  }

  async function page(call: ItemCall): Promise<Outcome> {
    const result = await options.runPage(call).catch((error: unknown) => {
      throw isOutage(error) ? error : atSegment(error, undefined, NOTHING_DONE, call.job);
    });
    return storeOutcome(call, result, { ...NOTHING_DONE, runs: 1 });
  }

  /** A failure with the usage of its item until then, and in a chain with its step. */
  function atSegment(
    error: unknown,
    segment: Segment | undefined,
    { runs, credits }: Progress,
    job: JobDocument,
  ): ItemFailure {
    const failure = failureIn(error, job);
    // A run that was begun is billed, unless the cause is the service's.
    const isPaid = segment?.runs !== 'model' && !failure.mayPass && failure.isUnstarted !== true;
    return new ItemFailure({
      ...failure,
      usage: { runs: runs + (isPaid ? 1 : 0), credits },
      ...(job.type === 'chain' && segment !== undefined && { failedStep: segment.index }),
    });
  }

  function failureIn(error: unknown, { type }: JobDocument): FailedWork {
    if (error instanceof ItemFailure) return error.failure;
    if (error instanceof ApiError) return failureOf(error);
    if (error instanceof StorageFullError) return failureOf(asApiError(error));
    if (!(error instanceof Abandoned)) log.warn({ err: error, type }, 'Work on an item failed unexpectedly');
    return {
      code: 'internal_error',
      message: 'The item failed for a reason of the service itself; it can be resumed.',
      mayPass: true,
    };
  }

  return async (item, job, signal): Promise<WorkResult> => {
    try {
      const definition = await definitions.of(job._id);
      const call = { item, job, definition, signal };
      return { outcome: await (definition.takes === 'rows' ? page(call) : runSegments(call)) };
    } catch (error) {
      if (error instanceof PutBack) return { putBackMs: error.pauseMs };
      if (isOutage(error)) return { outage: error };
      return { failure: failureIn(error, job) };
    }
  };
}

/**
 * Returns a function that runs a step of storing the result of a segment. A model's answer is paid, so its process
 * keeps it through store outages. A pass is repeated by the next owner of the item.
 */
function storing(segment: Segment | undefined, signal: AbortSignal) {
  return <T>(step: () => Promise<T>) => (segment?.runs === 'model' ? throughOutages(step, signal) : step());
}

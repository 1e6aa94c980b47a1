import type {
  CompareTaskResult,
  DescribeTaskResult,
  ImagePass,
  PassTimings,
  TransformTaskResult,
} from '../../../workers/protocol.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import type { ImageHeader } from './header/facts.ts';
import type { ImageObject } from './image-object.ts';
import type { IncomingCall, WorkClass } from './slots.ts';

/** A file that is still in a store. It is read when its call has a slot, so that a waiting call holds no bytes. */
export interface StoredFile {
  /** The size of the file in bytes. */
  length: number;
  /** The facts as measured when the file was stored. */
  facts: ImageObject;
  /** @throws ApiError when the file cannot be read. */
  read(): Promise<Uint8Array>;
}

export function isStoredFile(file: Uint8Array | StoredFile): file is StoredFile {
  return !(file instanceof Uint8Array);
}

export interface ImageCall {
  /**
   * The file. Bytes that own their memory are transferred to a thread, so the caller must not use them afterwards. A
   * file in a store is read when the call has its slot.
   */
  bytes: Uint8Array | StoredFile;
  /** The header, if it was already read from these bytes. */
  header?: ImageHeader | null;
  /** The account of the call. Accounts are served in turn. */
  accountId: string;
  /**
   * The class of the work; a call by default. Jobs yield to calls, wait without a limit, and are never refused for lack
   * of capacity.
   */
  work?: WorkClass;
  /** The admission that `admitIncoming` granted before the body was received. */
  incoming?: IncomingCall;
  /**
   * Whether this is an item of a large job. Such work yields the CPU to other work. That costs some milliseconds, and
   * the start of a child process.
   */
  inBatch?: boolean;
  /**
   * Epoch milliseconds after which the caller gets deadline_exceeded. The deadline of a job is postponed by its wait
   * for a slot.
   */
  deadlineMs: number;
  /** Aborts when the client disconnects. The result then rejects with the signal's reason. */
  signal?: AbortSignal;
  /**
   * Aborts when the work of a job is no longer wanted. If no worker has begun it, the result rejects with the signal's
   * reason.
   */
  waitSignal?: AbortSignal;
  /** Maps a parameter of the pass, such as `steps[0].params.width`, to the field of the call. */
  paramOf?: (passParam: string) => string;
  /**
   * The bodies of the jobs that do the same as the call: one job, or several that share the work. Their assetIds are
   * left out if the file is not an asset.
   */
  asJobs?: readonly Record<string, unknown>[] | undefined;
}

/** A second picture that steps read in addition to the input, such as an overlay. */
export interface LayerFile extends Pick<ImageCall, 'bytes' | 'header'> {
  /**
   * The request field to name in errors about this picture. By default, it is the field that the error itself names.
   */
  param?: string | undefined;
}

/** The second pictures of a call, keyed by the id that its steps use for them. */
export type LayerFiles = Readonly<Record<string, LayerFile>>;

export interface TransformCall extends ImageCall {
  pass: ImagePass;
  layers?: LayerFiles;
  /** Whether to measure the facts of the result too. They are present only if the same task can read them. */
  describes?: boolean;
}

/** Several passes over one file. */
export interface BranchCall extends Omit<ImageCall, 'paramOf'> {
  branches: readonly BranchPass[];
  layers?: LayerFiles;
}

export interface BranchPass extends Pick<ImageCall, 'asJobs'> {
  pass: ImagePass;
  paramOf: (passParam: string) => string;
  /** The prefix that `paramOf` gives to the parameters of a single op; none if absent. */
  parametersPrefix?: string;
}

export interface DescribeCall extends ImageCall {
  /** The largest number of palette colours. Without it, no palette is measured. */
  palette?: number | undefined;
}

export interface CompareCall extends ImageCall {
  /** The picture with which the image is compared. */
  other: Uint8Array | StoredFile;
  /** Whether to compute the SSIMULACRA 2 score. */
  isScored?: boolean | undefined;
}

/** A call that has begun: its result, its end and its wait. */
export interface RunningCall<T> {
  /**
   * Rejects with an ApiError. Its code is unsupported_format, invalid_param, or provider_unavailable. The last has a
   * Retry-After, and `capacity`, `deadline_exceeded` or `worker_unreachable` as details.reason.
   */
  result: Promise<T>;
  /**
   * Resolves when no worker works for the call any more. After a deadline, that is later than the result. Never
   * rejects.
   */
  ended: Promise<unknown>;
  /** The milliseconds for which the call has waited for its workers so far, also if it fails. */
  waitedMs: () => number;
}

/** A running call without the times of its waits. */
export type StartedCall<T> = Pick<RunningCall<T>, 'result' | 'ended'>;

/** The milliseconds from the call to the start of its worker, including the wait for a rasterizer. */
export interface WithQueueTime {
  queueMs: number;
}

export type TransformResult = TransformTaskResult & WithQueueTime;
/** The result of one of several passes, or its error. */
export type PassOutcome = TransformTaskResult | ApiError;
export interface BranchResult extends WithQueueTime {
  /** The result or the error of each pass, in order. */
  outputs: PassOutcome[];
  timings: PassTimings;
}
export type DescribeResult = DescribeTaskResult & WithQueueTime;
export interface CompareResult extends CompareTaskResult, WithQueueTime {
  /** Whether one of the two images has several frames or pages, of which only the first was compared. */
  comparesFirstFrames: boolean;
}

/** The result of the only pass, with the summed times of all its formats. */
export function requireOnlyOutput({ outputs: [output], queueMs, timings }: BranchResult): TransformResult {
  if (output === undefined) throw new Error('A pass has no result.');
  if (output instanceof ApiError) throw output;
  return { ...output, queueMs, timings };
}

import type { Compared, Described, Pass, Timings, Transformed } from '../../../workers/protocol.ts';
import type { ApiError } from '../../platform/http/errors/errors.ts';
import type { Header } from './header/header.ts';
import type { IncomingCall, WorkClass } from './slots.ts';
import type { StoredFile } from './source.ts';

export interface ImageCall {
  /**
   * The file. Bytes that own their memory are transferred to a thread, so the caller must not use them afterwards. A
   * file in a store is read when the call has its slot.
   */
  bytes: Uint8Array | StoredFile;
  /** The header, where it was already read from these bytes. */
  header?: Header | null;
  /** The account of the call; accounts take turns. */
  accountId: string;
  /** Jobs yield to calls, wait without a limit, and are never refused for lack of capacity. Absent: a call. */
  work?: WorkClass;
  /** The call as `expect` let it in, before its body was received. */
  incoming?: IncomingCall;
  /**
   * Whether this is an item of a large job, which yields the cores to other work. It costs some milliseconds more, and
   * the start of a child process.
   */
  inBatch?: boolean;
  /** Epoch milliseconds after which the caller gets deadline_exceeded. That of a job moves by its wait for a slot. */
  deadlineMs: number;
  /** Aborts when the client goes away; the result then rejects with its reason. */
  signal?: AbortSignal;
  /**
   * Aborts when the work of a job is no longer wanted unless a worker has begun it; the result then rejects with its
   * reason.
   */
  waitSignal?: AbortSignal;
  /** Maps a parameter of the pass, such as `steps[0].params.width`, to the field of the call. */
  paramOf?: (passParam: string) => string;
  /** The body of a job that does the same as the call, without its assetIds where the file is not an asset. */
  asJob?: Record<string, unknown>;
}

/** A second picture that steps read. */
export interface LayerFile extends Pick<ImageCall, 'bytes' | 'header'> {
  /** The field of the call that a refusal of it names. Absent: as the refusal does. */
  param?: string;
}

/** The second pictures of a call, by the id in its steps. */
export type Layers = Readonly<Record<string, LayerFile>>;

export interface TransformCall extends ImageCall {
  pass: Pass;
  layers?: Layers;
  /** Whether to measure the facts of the result, too. They are present where the same task can read them. */
  describes?: boolean;
}

/** Several passes over one file. */
export interface BranchCall extends Omit<ImageCall, 'paramOf' | 'asJob'> {
  branches: readonly BranchPass[];
  layers?: Layers;
}

export interface BranchPass {
  pass: Pass;
  paramOf: (passParam: string) => string;
}

export interface DescribeCall extends ImageCall {
  /** The most colours of a palette; absent or undefined: none is measured. */
  palette?: number | undefined;
}

export interface CompareCall extends ImageCall {
  /** The file of the other image. */
  other: Uint8Array | StoredFile;
  /** Whether the difference has a score of SSIMULACRA 2. */
  isScored?: boolean | undefined;
}

/** A running call. */
export interface RunningCall<T> {
  /**
   * Rejects with ApiError: unsupported_format, invalid_param, or provider_unavailable with details.reason `capacity`,
   * `deadline_exceeded` or `worker_unreachable` and a Retry-After.
   */
  result: Promise<T>;
  /**
   * Resolves when no worker runs for the call any more, which after a deadline is later than the result. Never rejects.
   */
  ended: Promise<void>;
}

/** Time from the call to its worker, with the wait for a rasterizer. */
export interface QueueTime {
  queueMs: number;
}

export type TransformResult = Transformed & QueueTime;
/** The result of one of several passes, or the refusal of it. */
export type PassOutcome = Transformed | ApiError;
export interface BranchResult extends QueueTime {
  /** The result or the refusal of each pass, in order. */
  outputs: PassOutcome[];
  timings: Timings;
}
export type DescribeResult = Described & QueueTime;
export interface CompareResult extends Compared, QueueTime {
  /** Whether one of the two has several frames or pages: only the first ones were compared. */
  comparesFirstFrames: boolean;
}

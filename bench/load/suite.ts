import type { IncomingHttpHeaders } from 'node:http';
import type { Api } from '../api.ts';

/** One HTTP call, as sent. */
export interface HttpCall {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path below the URL of the instance, with its query. */
  path: string;
  headers?: Record<string, string>;
  body?: Buffer;
  /** The right answer; without it any JSON or image is right. */
  expects?: Expectation;
}

/** The expected answer, apart from its status. */
export interface Expectation {
  /** Content type, without its parameters; `image/` matches every image. */
  type: string;
  /** The width of the image in pixels. */
  width?: number;
}

/** An answer as a check sees it: complete, and with a status of success. */
export interface CallResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** A picture that calls send. */
export interface BenchPicture {
  name: string;
  type: string;
  bytes: Buffer;
}

/** The context in which a case prepares itself. */
export interface CaseContext {
  api: Pick<Api, 'post'>;
  pictures: readonly BenchPicture[];
}

/** One kind of call. It is prepared once in the loading process, and then builds each call. */
export interface LoadCase {
  /** The typical caller of such calls, and their purpose. */
  description: string;
  /**
   * Prepares the case.
   * @returns a function that builds a call from its number, which counts from 0.
   */
  prepare(context: CaseContext): Promise<(turn: number) => HttpCall>;
  /** Statuses that count as right answers besides 2xx. */
  expected?: readonly number[];
  /**
   * Judges an answer beyond what its call expects.
   * @returns null for a right answer, or the error by which a wrong one is counted, in a few words.
   */
  check?(answer: CallResponse, call: HttpCall): string | null;
  /**
   * The next call of the same work, such as the question whether a job has ended. The latency of the work includes all
   * of them.
   * @returns null when the answer was the last one.
   */
  follow?(answer: CallResponse): HttpCall | null;
  /** Whether calls reuse connections; true by default. Otherwise each call opens its own connection. */
  keepAlive?: boolean;
  /** Speed at which bodies are sent, as from a phone; by default as fast as they can be. */
  uploadBytesPerSecond?: number;
  /** Items of one right answer, such as those of a batch; 1 by default. */
  items?: number;
}

interface StageBase {
  name: string;
  seconds: number;
  /**
   * Whether the stage only warms up the instance. It is then left out of the tables, the comparisons and the
   * thresholds.
   */
  isWarmUp?: true;
}

/** Closed loop: each connection sends its next call when the previous one is answered. */
export interface ClosedStage extends StageBase {
  loop: 'closed';
  /** Number of connections by case. */
  connections: Record<string, number>;
}

/** Open loop: calls become due at random times with a mean rate, however slow the answers are. */
export interface OpenStage extends StageBase {
  loop: 'open';
  /** The rate of each case. It may be a multiple of the case's rate in an earlier stage. */
  perSecond: Record<string, Rate | RateOf>;
  /** Calls that were refused with a Retry-After are sent once more when it has passed. */
  retries?: true;
}

/** Calls at random times with a mean rate per second, a ramp of rates, or calls at given times. */
export type Rate = number | Ramp | GivenTimes;

/** A rate that changes evenly from the start of a stage to its end, in calls per second. */
export interface Ramp {
  from: number;
  to: number;
}

/** Times of calls such as those of a log, in ms since the start of the stage, in order. */
export interface GivenTimes {
  atMs: readonly number[];
}

export interface RateOf {
  times: number;
  /** Name of the earlier stage. */
  stage: string;
}

export type Stage = ClosedStage | OpenStage;

export type Measure = 'perSecond' | 'p50' | 'p95' | 'p99' | 'errorShare';

/** A condition of a run for `--thresholds` to succeed. Times are milliseconds, shares lie between 0 and 1. */
export interface Threshold {
  stage: string;
  case: string;
  measure: Measure;
  atMost?: number;
  /** A value, or a multiple of the case's rate per second in an earlier stage. */
  atLeast?: number | RateOf;
}

/** A suite is one value: its kinds of calls, and the stages in which they are sent. */
export interface LoadSuite {
  name: string;
  description: string;
  /** Settings of the instance, if the bench starts it. */
  settings?: Record<string, string>;
  /** Accounts that the bench makes if it starts the instance, 1 by default; calls use them in turn. */
  accounts?: number;
  cases: Record<string, LoadCase>;
  stages: readonly Stage[];
  thresholds?: readonly Threshold[];
  /** The largest growth of the instance's memory that a run of half an hour or more may show. */
  mostMegabytesPerHour?: number;
}

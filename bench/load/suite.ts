import type { Api } from './target.ts';

/** One HTTP call as it is sent. */
export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Behind the address of the instance, with its query. */
  path: string;
  headers?: Record<string, string>;
  body?: Buffer;
}

/** A picture that calls send. */
export interface Picture {
  name: string;
  type: string;
  bytes: Buffer;
}

/** What a case may use while it prepares itself. */
export interface CaseContext {
  api: Api;
  pictures: readonly Picture[];
}

/** One kind of call. It is prepared once in the loading process, and then says what each call sends. */
export interface LoadCase {
  /** Who sends such calls, and why. */
  description: string;
  /** @returns the call of a turn; turns count from 0. */
  prepare(context: CaseContext): Promise<(turn: number) => Call>;
  /** Statuses that are right answers beside 2xx. */
  expected?: readonly number[];
}

interface StageBase {
  name: string;
  seconds: number;
  /** The stage is run and kept out of the tables, the comparisons and the thresholds. */
  isWarmUp?: true;
}

/** Closed loop: each connection sends its next call when it has the answer to the one before. */
export interface ClosedStage extends StageBase {
  loop: 'closed';
  /** Connections by case. */
  connections: Record<string, number>;
}

/** Open loop: calls become due at random moments at this mean rate, however slow the answers are. */
export interface OpenStage extends StageBase {
  loop: 'open';
  /** Calls per second by case; or a multiple of what the case reached in an earlier stage. */
  perSecond: Record<string, number | RateOf>;
  /** Calls that were refused with a Retry-After are sent once more when it has passed. */
  retries?: true;
}

export interface RateOf {
  times: number;
  /** Name of the earlier stage. */
  stage: string;
}

export type Stage = ClosedStage | OpenStage;

export type Measure = 'perSecond' | 'p50' | 'p95' | 'p99' | 'errorShare';

/** What a run has to keep for `--thresholds` to succeed. Times are milliseconds, shares lie between 0 and 1. */
export interface Threshold {
  stage: string;
  case: string;
  measure: Measure;
  atMost?: number;
  /** A value; or a multiple of what the case reached per second in an earlier stage. */
  atLeast?: number | RateOf;
}

/** A suite is one value: its kinds of calls, and the stages in which they are sent. */
export interface LoadSuite {
  name: string;
  description: string;
  /** Settings of the instance where the bench starts it. */
  settings?: Record<string, string>;
  cases: Record<string, LoadCase>;
  stages: readonly Stage[];
  thresholds?: readonly Threshold[];
}

import type { ErrorCode } from '../../platform/http/errors.ts';
import type { JobHold } from '../billing/holds.ts';
import { JOB_TYPES } from '../catalogue/plan/job.ts';
import type { EventType } from '../events/event.ts';

export const JOB_STATUSES = [
  'PENDING',
  'PROCESSING',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'CANCELLING',
] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

export { JOB_TYPES };
export type JobType = (typeof JOB_TYPES)[number];

export const ITEM_STATUSES = ['PENDING', 'PROCESSING', 'COMPLETED', 'FAILED', 'CANCELLED'] as const;
export type ItemStatus = (typeof ITEM_STATUSES)[number];

/** Running jobs of one account and type. The next waits in PENDING. */
export const RUNNING_JOBS_PER_TYPE = 2;

/**
 * A job as it is stored: the part that changes. What it runs stands in its definition, which never changes, and what
 * became of each item in the item's own document.
 */
export interface JobDocument {
  _id: string;
  accountId: string;
  /** The plan at the submit. */
  plan: string;
  /** Null for a console session. */
  apiKeyId: string | null;
  /**
   * Where the document stands in its own life: `hidden` until holds and items are in; `open` while it runs; `ended`
   * until what follows from its end is done; `done`; `leaving` once it is expired or undone.
   */
  phase: 'hidden' | 'open' | 'ended' | 'done' | 'leaving';
  phaseAt: string;
  /** 1 while its account may see it. */
  shown: 0 | 1;
  status: JobStatus;
  type: JobType;
  op: string | null;
  /** The key of its usage: the op, or the raw type of a job that was submitted without one. */
  usageKey: string;
  model: string | null;
  presetId: string | null;
  presetName: string | null;
  presetVersion: number | null;
  collection: string | null;
  totalItems: number;
  completedItems: number;
  failedItems: number;
  cancelledItems: number;
  /** Items that completed or failed. */
  settledItems: number;
  /** Runs to pay for, so far. */
  usedRuns: number;
  /** Credits for models to pay, so far. */
  usedCredits: number;
  /** Assets made, so far. */
  outputs: number;
  hold: JobHold;
  /** Bytes of its definition and rows; absent on the small jobs, which no bound counts. */
  keptBytes?: number;
  /** Places that were reserved for outputs. */
  places: number;
  /** The mark under which those that it left empty are given back; null until then. */
  placesToken: string | null;
  /** The last settlement, whole: the next settlement, or the sweep, writes out what follows from it. */
  settlement: Settlement | null;
  /** Holds one of the places for running jobs; unique, so that there are never more. Absent while it waits. */
  slot?: string;
  errorCode: ErrorCode | null;
  errorMessage: string | null;
  retryable: boolean | null;
  /** Credits for models that were charged. */
  actualCredits: number;
  /** All credits that were charged, runs beyond the allowance included. */
  chargedCredits: number;
  /** Id of the event of its end. */
  endEventId: string | null;
  attemptNumber: number;
  /** The attempt that this one resumes; unique, so that an attempt is resumed once. Absent on a first one. */
  parentJobId?: string;
  rootJobId: string;
  /**
   * The Idempotency-Key of its submit; unique in the account for a day, so that no loss of records makes a second job.
   */
  idempotencyKey?: string;
  /** The fingerprint of the request under that key. */
  fingerprint?: string;
  createdAt: string;
  /** `YYYY-MM-DD` of createdAt. */
  day: string;
  startedAt: string | null;
  completedAt: string | null;
  expiresAt: string;
}

/** Outcomes that were counted by one update of the job. */
export interface Settlement {
  id: string;
  /** How many items had settled before it: the first of its items that completed or failed is the next one. */
  before: number;
  at: string;
  items: SettledItem[];
}

export interface SettledItem {
  index: number;
  status: OutcomeStatus;
  /** Present when an endpoint wants to hear of it. */
  event?: { id: string; type: EventType };
}

export type OutcomeStatus = 'COMPLETED' | 'FAILED' | 'CANCELLED';

/**
 * An item. Its place in the queue of its job is `queue`: `ready` to be claimed, `later` after a failure that may pass,
 * `claimed`, `decided` until its outcome is counted; absent once its status is final. Each claim raises the epoch, and
 * what an owner writes names the epoch: the late write of an owner who lost the claim matches nothing.
 */
export interface ItemDocument {
  _id: string;
  jobId: string;
  accountId: string;
  index: number;
  assetId: string | null;
  /** Which of the definition's variants. */
  variant: number;
  /** A row of a render, as JSON text: its keys are the caller's own. */
  row?: string;
  status: ItemStatus;
  queue?: 'ready' | 'later' | 'claimed' | 'decided';
  epoch: number;
  /** Tries that ended in a failure. */
  tries: number;
  /** Claims whose process ended with them. */
  deaths: number;
  /** Claims whose lease ran out though nobody saw their process end. */
  lapses?: number;
  /** Claims that ended because a store was away. */
  waits?: number;
  owner?: string;
  /** Names the claim among others of its owner. */
  claim?: string;
  leaseUntil?: string;
  /** The process of its owner was seen to end. */
  ownerEnded?: boolean;
  notBefore?: string;
  /** Its pause is for want of a store: it ends as soon as the stores answer again. */
  awaitsStore?: true;
  startedAt?: string;
  outcome?: Outcome;
  decidedAt?: string;
  progress?: Progress;
  /** The object that it took over from the attempt before. */
  inherits?: string;
  /** The id of a provider's request that is under way, so that an attempt after a crash does not pay twice. */
  requestId?: string;
}

/** The end of an item, decided once. */
export interface Outcome {
  status: OutcomeStatus;
  resultAssetId?: string;
  /** An answer in JSON, as text: its keys are the caller's own. */
  output?: string;
  achieved?: Record<string, number>;
  errorCode?: ErrorCode;
  errorMessage?: string;
  retryable?: boolean;
  failedStep?: number;
  durationMs: number;
  completedAt: string;
  /** Its part of the charge of its job. */
  runs: number;
  credits: number;
}

/** How far an item of a chain has come. */
export interface Progress {
  /** The segment that is next. */
  segment: number;
  /** Where the picture is that the segment before made; null before the first. */
  objectKey: string | null;
  runs: number;
  credits: number;
}

/** An item with the claim that its owner holds. */
export type Claimed = ItemDocument & { owner: string; startedAt: string };

export function itemId(jobId: string, index: number): string {
  return `${jobId}/${index}`;
}

export function isTerminal(status: JobStatus): status is OutcomeStatus {
  return status === 'COMPLETED' || status === 'FAILED' || status === 'CANCELLED';
}

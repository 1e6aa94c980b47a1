import type { ErrorCode } from '../../platform/http/errors/errors.ts';
import type { Warning } from '../../platform/http/hooks/warnings.ts';
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
export type OutcomeStatus = 'COMPLETED' | 'FAILED' | 'CANCELLED';

export { JOB_TYPES };
export type JobType = (typeof JOB_TYPES)[number];

export const ITEM_STATUSES = ['PENDING', 'PROCESSING', 'COMPLETED', 'FAILED', 'CANCELLED'] as const;
export type ItemStatus = (typeof ITEM_STATUSES)[number];

/** The most jobs of one account and type that run at once. Further ones wait in PENDING. */
export const MAX_RUNNING_JOBS_PER_TYPE = 2;

/**
 * The stored part of a job that changes. Its work is in its definition, which never changes, and the outcome of each
 * item in the document of the item. The phase decides which fields a job has; transitions.ts says how it moves.
 */
export type JobDocument = UnfinishedJob | EndedJob;

/** The fields of a job in every phase. */
interface JobFields {
  _id: string;
  accountId: string;
  /** The plan at the submit. */
  plan: string;
  /** Null for a console session. */
  apiKeyId: string | null;
  phaseAt: string;
  /** 1 while its account may see it. */
  shown: 0 | 1;
  type: JobType;
  op: string | null;
  /** The key of its usage: the op, or the raw type of a job that was submitted without one. */
  usageKey: string;
  model: string | null;
  /** Whether any of its segments runs on a model of the sandbox. */
  sandbox?: true;
  presetId: string | null;
  presetName: string | null;
  presetVersion: number | null;
  collection: string | null;
  totalItems: number;
  completedItems: number;
  failedItems: number;
  /** While it is being cancelled, as of the last item that settled. */
  cancelledItems: number;
  /** Items that completed or failed. */
  settledItems: number;
  /** Billable runs so far. */
  usedRuns: number;
  /** Credits for models so far. */
  usedCredits: number;
  /** Number of result assets so far. */
  outputs: number;
  hold: JobHold;
  /** Bytes of its definition and rows. Absent on small jobs, which do not count towards the bound. */
  keptBytes?: number;
  /** Number of assets reserved for outputs. */
  reservedAssets: number;
  /** The last settlement. The next settlement, or the sweep, publishes it. */
  settlement: SettledBatch | null;
  attemptNumber: number;
  /** The attempt that this one resumes; unique, so that an attempt is resumed once. Absent on a first one. */
  parentJobId?: string;
  rootJobId: string;
  /**
   * The Idempotency-Key of its submit, unique in the account for a day: a lost record of the key makes no second job.
   */
  idempotencyKey?: string;
  /** The fingerprint of the request under that key. */
  fingerprint?: string;
  createdAt: string;
  /** `YYYY-MM-DD` of createdAt. */
  day: string;
  /** Absent until it runs. */
  startedAt?: string;
  expiresAt: string;
}

/** A job whose items have not all ended, or whose submit was given up. */
export interface UnfinishedJob extends JobFields {
  /** `hidden` until holds and items are stored; `open` while it waits or runs; `undone` when its submit is given up. */
  phase: 'hidden' | 'open' | 'undone';
  status: Exclude<JobStatus, OutcomeStatus>;
  /** The slot of a running job; unique, so that there are never more. Absent while the job waits. */
  slot?: string;
}

/** A job whose items have all ended. */
export interface EndedJob extends JobFields {
  /** `ended` until its clean-up is done; `done`; `leaving` when it has expired. */
  phase: 'ended' | 'done' | 'leaving';
  status: OutcomeStatus;
  /** The failure that represents the job. Absent when no item failed. */
  errorCode?: ErrorCode;
  errorMessage?: string;
  retryable?: boolean;
  /** Credits for models that were charged. */
  actualCredits: number;
  /** All credits that were charged, runs beyond the allowance included. */
  chargedCredits: number;
  /** Id of the event that announces its end; null when nobody subscribes to it. */
  endEventId: string | null;
  completedAt: string;
  /** The token under which unused reservations are released. Absent until then. */
  releaseToken?: string;
}

/** A job in one of these phases. */
export type JobIn<Phase extends JobDocument['phase']> = Phase extends EndedJob['phase']
  ? EndedJob
  : UnfinishedJob;

/** Outcomes that were counted by one update of the job. */
export interface SettledBatch {
  id: string;
  /** The number of items that had settled before. The sequence numbers of its own items continue from it. */
  before: number;
  at: string;
  items: SettledItem[];
}

export interface SettledItem {
  index: number;
  status: OutcomeStatus;
  /** Present when a webhook endpoint subscribes to the event. */
  event?: { id: string; type: EventType };
}

/**
 * An item. Its state in the queue of its job is `queue`: `ready` to be claimed, `later` after a retryable failure,
 * `claimed`, `decided` until its outcome is counted; absent once its status is final. Each claim raises the epoch, and
 * what an owner writes names the epoch: the late write of an owner who lost the claim matches nothing.
 */
export interface ItemDocument {
  _id: string;
  jobId: string;
  accountId: string;
  index: number;
  /** Its index in the first attempt. Absent on an item of that one. */
  rootIndex?: number;
  assetId: string | null;
  /** Index of its variant in the definition. */
  variant: number;
  /** A row of a render, as JSON text: its keys are the caller's own. */
  row?: string;
  status: ItemStatus;
  queue?: 'ready' | 'later' | 'claimed' | 'decided';
  epoch: number;
  /** Tries that ended in a failure. */
  tries: number;
  /** Why the last try did not succeed. Absent before it failed once. */
  lastError?: ItemError;
  /** Claims that ended with the death of their process. */
  deaths: number;
  /** Claims whose lease expired although no process was seen to end. */
  lapses?: number;
  /** Claims that ended because a store was away. */
  waits?: number;
  owner?: string;
  /** Distinguishes the claim from others of its owner. */
  claim?: string;
  leaseUntil?: string;
  /** Whether the process of its owner was seen to end. */
  ownerEnded?: boolean;
  notBefore?: string;
  /** Whether its pause is due to a store outage, and ends as soon as the stores answer. */
  awaitsStore?: true;
  startedAt?: string;
  outcome?: Outcome;
  decidedAt?: string;
  progress?: Progress;
  /** The object that it inherited from the attempt before. */
  inherits?: string;
  /** The id of a running request at a provider, so that a retry after a crash does not pay twice. */
  requestId?: string;
}

export interface ItemError {
  code: ErrorCode;
  message: string;
}

/** The end of an item, decided once. */
export interface Outcome {
  status: OutcomeStatus;
  resultAssetId?: string;
  /** An answer in JSON, as text: its keys are the caller's own. */
  output?: string;
  achieved?: Record<string, number>;
  /** The warnings that a synchronous call of the same work would send; absent if there are none. */
  warnings?: Warning[];
  errorCode?: ErrorCode;
  errorMessage?: string;
  retryable?: boolean;
  failedStep?: number;
  durationMs: number;
  completedAt: string;
  /** Its share of the charge of its job. */
  runs: number;
  credits: number;
}

/** The progress of an item of a chain. */
export interface Progress {
  /** Index of the next segment. */
  segment: number;
  /** Key of the picture that the previous segment made; null before the first. */
  objectKey: string | null;
  runs: number;
  credits: number;
  /** Those of its finished segments; absent without any. */
  warnings?: Warning[];
}

/** A claimed item. */
export type Claimed = ItemDocument & { owner: string; startedAt: string };

export function itemId(jobId: string, index: number): string {
  return `${jobId}/${index}`;
}

/** Whether all items of a job have ended. */
export function hasEnded(job: JobDocument): job is EndedJob {
  return job.phase === 'ended' || job.phase === 'done' || job.phase === 'leaving';
}

/** Whether a job was never shown: its submit is under way, or was given up. */
export function wasNeverShown({ phase }: JobDocument): boolean {
  return phase === 'hidden' || phase === 'undone';
}

import type { ErrorCode } from '../../platform/http/errors/errors.ts';
import type { CallWarning } from '../../platform/http/hooks/warnings.ts';
import type { JobHold } from '../billing/holds.ts';
import type { WebhookEventType } from '../events/event.ts';

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

export const JOB_TYPES = ['ai-generate', 'ai-edit', 'parse', 'process', 'render', 'chain'] as const;
export type JobType = (typeof JOB_TYPES)[number];

export const ITEM_STATUSES = ['PENDING', 'PROCESSING', 'COMPLETED', 'FAILED', 'CANCELLED'] as const;
export type ItemStatus = (typeof ITEM_STATUSES)[number];

/** The most jobs of one account and type that run at once. Further jobs wait as PENDING. */
export const MAX_RUNNING_JOBS_PER_TYPE = 2;

/**
 * The part of a job that changes. Its work is in its definition, which never changes, and the outcome of each item is
 * in the item's document. The phase decides which fields a job has; transitions.ts defines the changes of phase.
 */
export type JobDocument = UnfinishedJob | EndedJob;

/** The fields of a job in every phase. */
interface JobFields {
  _id: string;
  accountId: string;
  /** The plan of the account at the submit. */
  plan: string;
  /** The API key of the caller; null for a console session. */
  apiKeyId: string | null;
  phaseAt: string;
  /** 1 while the account may see the job, else 0. */
  shown: 0 | 1;
  type: JobType;
  op: string | null;
  /** The name under which usage counts the job: its op, or its type if it was submitted without an op. */
  usageKey: string;
  model: string | null;
  /** True when any segment runs on a sandbox model. */
  sandbox?: true;
  presetId: string | null;
  presetName: string | null;
  presetVersion: number | null;
  collection: string | null;
  totalItems: number;
  completedItems: number;
  failedItems: number;
  /** The number of cancelled items, known while the job is being cancelled. */
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
  /** Bytes of its definition and rows. Absent on small jobs, which do not count towards the account's limit. */
  keptBytes?: number;
  /** Number of assets reserved for outputs. */
  reservedAssets: number;
  /**
   * The last recorded batch of outcomes. If a crash prevented its publication, the next recording or the sweep
   * publishes it.
   */
  settlement: SettledBatch | null;
  attemptNumber: number;
  /**
   * The attempt that this job resumes. It is unique, so that an attempt is resumed only once. Absent on a first
   * attempt.
   */
  parentJobId?: string;
  rootJobId: string;
  /**
   * The Idempotency-Key of its submit. It is unique in the account for a day, so that a lost record of the key makes no
   * second job.
   */
  idempotencyKey?: string;
  /** The fingerprint of the request that used the key. */
  fingerprint?: string;
  createdAt: string;
  /** `YYYY-MM-DD` of createdAt. */
  day: string;
  /** The process that submits the job. Absent once the job is shown. */
  submitter?: string;
  /** When the job started. Absent while it waits. */
  startedAt?: string;
  expiresAt: string;
}

/** A job whose items have not all ended, or whose submit was given up. */
export interface UnfinishedJob extends JobFields {
  /**
   * `hidden` until holds and items are stored; `open` while the job waits or runs; `undone` when its submit was given
   * up.
   */
  phase: 'hidden' | 'open' | 'undone';
  status: Exclude<JobStatus, OutcomeStatus>;
  /**
   * The slot of a running job. It is unique, so that no more jobs run than there are slots. Absent while the job waits.
   */
  slot?: string;
}

/** A job whose items have all ended. */
export interface EndedJob extends JobFields {
  /** `ended` until its clean-up is done; then `done`; `leaving` when it has expired. */
  phase: 'ended' | 'done' | 'leaving';
  status: OutcomeStatus;
  /** The failure that represents the job. Absent when no item failed. */
  errorCode?: ErrorCode;
  errorMessage?: string;
  retryable?: boolean;
  /** Credits for models that were charged. */
  actualCredits: number;
  /** All credits that were charged, including runs beyond the allowance. */
  chargedCredits: number;
  /** The id of the event that announces its end; null when no endpoint subscribes to it. */
  endEventId: string | null;
  completedAt: string;
  /** The token under which unused reservations are released. Absent until the release begins. */
  releaseToken?: string;
}

/** A job in one of these phases. */
export type JobInPhase<Phase extends JobDocument['phase']> = Phase extends EndedJob['phase']
  ? EndedJob
  : UnfinishedJob;

/** The outcomes that one update of the job counted. */
export interface SettledBatch {
  id: string;
  /** The number of items that had settled before. The sequence numbers of this settlement's items continue from it. */
  before: number;
  at: string;
  items: SettledItem[];
}

export interface SettledItem {
  index: number;
  status: OutcomeStatus;
  /** Present when a webhook endpoint subscribes to the event. */
  event?: { id: string; type: WebhookEventType };
}

/**
 * An item. `queue` is its state in the queue of its job: `ready` to be claimed, `later` after a retryable failure,
 * `claimed`, `decided` until its outcome is counted; absent once its status is final. Each claim raises the epoch, and
 * each write of an owner names the epoch, so that a late write of an owner that lost the claim changes nothing.
 */
export interface ItemDocument {
  _id: string;
  jobId: string;
  accountId: string;
  index: number;
  /** The index of the item in the first attempt. Absent on items of the first attempt itself. */
  rootIndex?: number;
  assetId: string | null;
  /** Index of its variant in the definition. */
  variant: number;
  /** A row of a render as JSON text, because the caller chooses its keys. */
  row?: string;
  status: ItemStatus;
  queue?: 'ready' | 'later' | 'claimed' | 'decided';
  epoch: number;
  /** Tries that ended in a failure. */
  tries: number;
  /** Why the last try failed. Absent before the first failure. */
  lastError?: ItemError;
  /** The number of its claims that ended with the death of their process. */
  deaths: number;
  /** The number of its claims whose lease expired although no process was seen to end. */
  lapses?: number;
  /** Claims that ended because a store was away. */
  waits?: number;
  owner?: string;
  /** Identifies this claim among those of the same owner. */
  claim?: string;
  leaseUntil?: string;
  /** Whether the process of its owner was seen to end. */
  ownerEnded?: boolean;
  notBefore?: string;
  /** Whether its pause is due to a store outage. Such a pause ends as soon as the stores respond. */
  awaitsStore?: true;
  startedAt?: string;
  outcome?: ItemOutcome;
  decidedAt?: string;
  progress?: ChainProgress;
  /** The key of the intermediate result that it inherited from the previous attempt. */
  inherits?: string;
  /** The id of a running request at a provider, so that a retry after a crash does not pay twice. */
  requestId?: string;
}

export interface ItemError {
  code: ErrorCode;
  message: string;
}

/** How an item ended. It is decided once. */
export interface ItemOutcome {
  status: OutcomeStatus;
  resultAssetId?: string;
  /** A JSON answer as text, because its keys are the caller's own. */
  output?: string;
  achieved?: Record<string, number>;
  /** The warnings that a synchronous call of the same work would send; absent if there are none. */
  warnings?: CallWarning[];
  errorCode?: ErrorCode;
  errorMessage?: string;
  retryable?: boolean;
  failedStep?: number;
  durationMs: number;
  completedAt: string;
  /** The runs that the item adds to the charge of its job. */
  runs: number;
  credits: number;
}

export interface ChainProgress {
  /** Index of the next segment. */
  segment: number;
  /** Key of the picture that the previous segment made; null before the first segment. */
  objectKey: string | null;
  runs: number;
  credits: number;
  /** The warnings of its finished segments; absent without any. */
  warnings?: CallWarning[];
}

export type ClaimedItem = ItemDocument & { owner: string; startedAt: string };

export function itemId(jobId: string, index: number): string {
  return `${jobId}/${index}`;
}

export function hasEnded(job: JobDocument): job is EndedJob {
  return job.phase === 'ended' || job.phase === 'done' || job.phase === 'leaving';
}

/** Whether a job was never shown to callers, because its submit is under way or was given up. */
export function wasNeverShown({ phase }: JobDocument): boolean {
  return phase === 'hidden' || phase === 'undone';
}

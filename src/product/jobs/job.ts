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

/** How many jobs of one type an account may have running. Further jobs wait as PENDING. */
export const MAX_RUNNING_JOBS_PER_TYPE = 2;

/**
 * A job without its definition, which never changes, and without the outcomes of its items; both are stored in other
 * collections. The phase decides which of the fields a job has; transitions.ts defines how the phase changes.
 */
export type JobDocument = UnfinishedJob | EndedJob;

/** The fields that a job has in every phase. */
interface JobFields {
  _id: string;
  accountId: string;
  /** The plan of the account when the job was submitted. */
  plan: string;
  /** The API key that submitted the job; null for a console session. */
  apiKeyId: string | null;
  phaseAt: string;
  /** 1 while the account may see the job, else 0. */
  shown: 0 | 1;
  type: JobType;
  op: string | null;
  /** The name under which usage counts the job: its op, or else its type. */
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
  /** The number of cancelled items. It is 0 until the job is being cancelled. */
  cancelledItems: number;
  /** The number of items that completed or failed. */
  settledItems: number;
  /** Billable runs of the settled items. */
  usedRuns: number;
  /** Credits for models that the settled items used. */
  usedCredits: number;
  /** The number of result assets so far. */
  outputs: number;
  hold: JobHold;
  /** The bytes of the definition and the rows. Absent on small jobs, which do not count towards the account's limit. */
  keptBytes?: number;
  /** The number of assets that are reserved for outputs. */
  reservedAssets: number;
  /**
   * The last recorded batch of outcomes. If a crash prevented its publication, the next recording publishes it, or else
   * the sweep.
   */
  settlement: SettledBatch | null;
  attemptNumber: number;
  /**
   * The previous attempt, which this job resumes. The field is unique, so that an attempt is resumed only once. Absent
   * on a first attempt.
   */
  parentJobId?: string;
  rootJobId: string;
  /**
   * The Idempotency-Key of the submit. The field is unique within the account for a day, so that a repeated request
   * makes no second job even if the record of the key was lost.
   */
  idempotencyKey?: string;
  /** The fingerprint of the request that was sent with the key. */
  fingerprint?: string;
  createdAt: string;
  /** The date of `createdAt`: `YYYY-MM-DD`. */
  day: string;
  /** The process that is submitting the job. Absent once the job is visible. */
  submitter?: string;
  /** When the job started. Absent while it waits. */
  startedAt?: string;
  expiresAt: string;
}

/** A job with items that have not ended, or a job whose submit was given up. */
export interface UnfinishedJob extends JobFields {
  /**
   * `hidden` until everything that the job needs is stored and its credits are held; `open` while it waits or runs;
   * `undone` when its submission was abandoned.
   */
  phase: 'hidden' | 'open' | 'undone';
  status: Exclude<JobStatus, OutcomeStatus>;
  /**
   * The slot that the running job occupies. The field is unique, so that no more jobs run than there are slots. Absent
   * while the job waits.
   */
  slot?: string;
}

/** A job whose items have all ended. If items failed, the error of the job is the error of one of them. */
export interface EndedJob extends JobFields, Pick<ItemOutcome, 'errorCode' | 'errorMessage' | 'retryable'> {
  /** `ended` until the clean-up is done, then `done`; `leaving` while the expired job is being removed. */
  phase: 'ended' | 'done' | 'leaving';
  status: OutcomeStatus;
  /** The credits that were charged for models. */
  actualCredits: number;
  /** All credits that were charged, for models and for runs beyond the allowance. */
  chargedCredits: number;
  /** The id of the event that announces the end of the job; null when no endpoint subscribes to it. */
  endEventId: string | null;
  completedAt: string;
  /** Identifies the one attempt to return unused quota that counts. Absent until the first attempt. */
  releaseToken?: string;
}

/** The type of a job that is in one of these phases. */
export type JobInPhase<Phase extends JobDocument['phase']> = Phase extends EndedJob['phase']
  ? EndedJob
  : UnfinishedJob;

/** A batch of outcomes that one update of the job counted. */
export interface SettledBatch {
  id: string;
  /** The number of items that had settled before this batch. The batch continues the numbering from there. */
  before: number;
  at: string;
  items: SettledItem[];
}

export interface SettledItem {
  index: number;
  status: OutcomeStatus;
  /** The event that announces the outcome. Absent when no webhook endpoint subscribes to it. */
  event?: { id: string; type: WebhookEventType };
}

/**
 * An item of a job. `queue` is its state in the queue: `ready` to be claimed, `later` while it waits for a retry,
 * `claimed`, or `decided` until its outcome is counted. It is absent once the status is final. Each claim raises the
 * epoch, and each write of an owner contains the epoch, so that a late write of an owner that has lost its claim
 * changes nothing.
 */
export interface ItemDocument {
  _id: string;
  jobId: string;
  accountId: string;
  index: number;
  /** The index that the item had in the first attempt. Absent on items of the first attempt itself. */
  rootIndex?: number;
  assetId: string | null;
  /** The index of the item's variant in the definition. */
  variant: number;
  /** The row of a render as JSON text. It is not stored as an object, because callers choose its keys. */
  row?: string;
  status: ItemStatus;
  queue?: 'ready' | 'later' | 'claimed' | 'decided';
  epoch: number;
  /** The number of tries that ended in a failure. */
  tries: number;
  /** Why the last try failed. Absent before the first failure. */
  lastError?: ItemError;
  /** The number of claims that ended because their process died. */
  deaths: number;
  /** The number of claims whose lease expired although their process was not seen to end. */
  lapses?: number;
  /** The number of claims that ended because a store was unavailable. */
  waits?: number;
  owner?: string;
  /** Identifies this claim among those of the same owner. */
  claim?: string;
  leaseUntil?: string;
  /** Whether the process that owns the claim was seen to end. */
  ownerEnded?: boolean;
  notBefore?: string;
  /** Whether the pause is due to a store outage. Such a pause ends as soon as the stores respond again. */
  awaitsStore?: true;
  startedAt?: string;
  outcome?: ItemOutcome;
  decidedAt?: string;
  progress?: ChainProgress;
  /** The key of the intermediate result that the item inherited from the previous attempt. */
  inherits?: string;
  /**
   * The id of the request on which a provider is working. After a crash, a retry continues this request instead of
   * paying for a second one.
   */
  requestId?: string;
}

/** The fields that a listing of items shows. The row is not one of them, because it may have megabytes. */
export const SHOWN_ITEM_FIELDS = [
  ...(['index', 'assetId', 'variant', 'status', 'queue', 'tries', 'lastError'] as const),
  ...(['startedAt', 'outcome', 'progress'] as const),
] as const satisfies ReadonlyArray<keyof ItemDocument>;

export type ShownItem = Pick<ItemDocument, '_id' | (typeof SHOWN_ITEM_FIELDS)[number]>;

export interface ItemError {
  code: ErrorCode;
  message: string;
}

/** How an item ended. It is decided once. */
export interface ItemOutcome {
  status: OutcomeStatus;
  resultAssetId?: string;
  /** A JSON answer, stored as text because callers choose its keys. */
  output?: string;
  achieved?: Record<string, number | boolean | string>;
  /** The warnings that a synchronous call would return for the same work; absent if there are none. */
  warnings?: CallWarning[];
  errorCode?: ErrorCode;
  errorMessage?: string;
  retryable?: boolean;
  failedStep?: number;
  durationMs: number;
  completedAt: string;
  /** The number of runs that the job is charged for the item. */
  runs: number;
  credits: number;
}

export interface ChainProgress extends Pick<ItemOutcome, 'runs' | 'credits' | 'warnings'> {
  /** The index of the next segment. */
  segment: number;
  /** The key of the picture that the previous segment made; null before the first segment. */
  objectKey: string | null;
}

export type ClaimedItem = ItemDocument & { owner: string; startedAt: string };

export function itemId(jobId: string, index: number): string {
  return `${jobId}/${index}`;
}

export function hasEnded(job: JobDocument): job is EndedJob {
  return job.phase === 'ended' || job.phase === 'done' || job.phase === 'leaving';
}

/** Whether callers have never seen the job: its submit is still running, or was given up. */
export function wasNeverShown({ phase }: JobDocument): boolean {
  return phase === 'hidden' || phase === 'undone';
}

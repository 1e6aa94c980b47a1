import type { Coordination } from '../../platform/stores/coordination/port.ts';
import type { DocumentStore } from '../../platform/stores/documents/port.ts';
import type { ObjectStore } from '../../platform/stores/objects/port.ts';
import type { EventLog } from '../../platform/tracing/tracing.ts';
import type { JobAssets } from '../assets/open.ts';
import type { JobHolds } from '../billing/holds.ts';
import type { EventOutbox } from '../events/open.ts';
import { JobDefinitions } from './definitions.ts';
import type { WorkKind } from './engine/active-job.ts';
import { ItemsStore } from './items-store.ts';
import type { JobDocument } from './job.ts';
import { JobsStore } from './store.ts';

/** The stores of the documents that make up a job. */
export interface JobStores {
  jobs: JobsStore;
  items: ItemsStore;
  definitions: JobDefinitions;
}

export async function openJobStores(documents: DocumentStore, now: () => Date): Promise<JobStores> {
  const [jobs, items, definitions] = await Promise.all([
    JobsStore.open(documents, now),
    ItemsStore.open(documents, now),
    JobDefinitions.open(documents),
  ]);
  return { jobs, items, definitions };
}

/**
 * The dependencies that all parts of the slice share: its stores, and functions of other slices. They are put together
 * in open.ts.
 */
export interface JobsContext extends JobStores {
  coordination: Coordination;
  objects: ObjectStore;
  assets: JobAssets;
  holds: JobHolds;
  events: Pick<EventOutbox, 'isWanted' | 'write'>;
  /** Returns the limits of a plan. */
  plan: (id: string) => { retentionDays: number; storedAssets: number };
  countAssets: (accountId: string) => Promise<number>;
  topUpUrl: () => string;
  /** The limit of the stored requests of all jobs of one account, in bytes. */
  maxKeptBytes: number;
  /** Identifies this process among all processes that share the stores. */
  owner: string;
  /** The number of items of each kind that this process can work on at the same time. */
  widths: Record<WorkKind, () => number>;
  /** The most items of each kind that this process may claim (JOB_ITEMS). */
  maxClaimedItems: () => number;
  /** Called when a job has ended in any process. The job is passed if it ended in this process. */
  onEnd: (jobId: string, job?: JobDocument) => void;
  draining: AbortSignal;
  now: () => Date;
  log: EventLog;
}

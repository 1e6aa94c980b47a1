import type { ProcessParts } from '../../platform/process-parts.ts';
import type { DocumentStore } from '../../platform/stores/documents/port.ts';
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

export function jobStoresOf(documents: DocumentStore, now: () => Date): JobStores {
  return {
    jobs: new JobsStore(documents, now),
    items: new ItemsStore(documents, now),
    definitions: new JobDefinitions(documents),
  };
}

/** What all parts of the jobs slice need: its stores, and functions of other slices. It is built in open.ts. */
export interface JobsContext
  extends JobStores,
    Pick<ProcessParts, 'coordination' | 'objects' | 'draining' | 'now' | 'log'> {
  assets: JobAssets;
  holds: JobHolds;
  events: Pick<EventOutbox, 'isWanted' | 'write'>;
  plan: (id: string) => { retentionDays: number; storedAssets: number };
  countAssets: (accountId: string) => Promise<number>;
  topUpUrl: () => string;
  /** The maximum size of all job requests that are stored for one account, in bytes. */
  maxKeptBytes: number;
  /** Identifies this process among all processes that share the stores. */
  owner: string;
  /** How many items of each kind of work this process can work on at the same time. */
  concurrency: Record<WorkKind, () => number>;
  /** The maximum number of items of each kind that this process may hold claims on: the setting JOB_ITEMS. */
  maxClaimedItems: () => number;
  /** Called when a job has ended in any process. The document is passed only if the job ended in this process. */
  onEnd: (jobId: string, job?: JobDocument) => void;
}

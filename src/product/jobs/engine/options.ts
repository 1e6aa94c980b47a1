import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { Objects } from '../../../platform/stores/objects/port.ts';
import type { Log } from '../../../platform/tracing/log.ts';
import type { AssetsForJobs } from '../../assets/open.ts';
import type { Holds } from '../../billing/holds.ts';
import type { Events } from '../../events/open.ts';
import type { Perform } from '../item-work.ts';
import type { ItemsStore } from '../items-store.ts';
import type { JobDocument } from '../job.ts';
import type { JobsStore } from '../store.ts';
import type { WorkKind } from './active-job.ts';

/** The options of the engine; each part of it picks its own. */
export interface EngineOptions {
  jobs: JobsStore;
  items: ItemsStore;
  perform: Perform;
  coordination: Coordination;
  objects: Objects;
  assets: AssetsForJobs;
  holds: Holds;
  events: Events;
  /** Names this process among all that share the stores. */
  owner: string;
  /** Items that this process can work on at once. */
  widths: Record<WorkKind, () => number>;
  /** Called when a job has ended, in whichever process; with the job where that was this one. */
  onEnd: (jobId: string, job?: JobDocument) => void;
  draining: AbortSignal;
  now: () => Date;
  log: Log;
}

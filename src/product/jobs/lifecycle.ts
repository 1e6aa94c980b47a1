import type { Coordination } from '../../platform/stores/coordination/port.ts';
import type { Documents } from '../../platform/stores/documents/port.ts';
import type { Objects } from '../../platform/stores/objects/port.ts';
import type { SweepTask } from '../../platform/sweeping/sweeper.ts';
import type { AssetsForJobs } from '../assets/open.ts';
import type { Holds } from '../billing/holds.ts';
import type { Events } from '../events/open.ts';
import { type Cancelling, createCancelling } from './cancelling.ts';
import { createDefinitions, type Definitions } from './definitions/definitions.ts';
import type { WorkKind } from './engine/active-job.ts';
import { openEngine } from './engine/open.ts';
import type { Perform } from './item-work.ts';
import { ItemsStore } from './items-store.ts';
import type { JobDocument } from './job.ts';
import { createReading, type Reading } from './reading.ts';
import { createResuming, type Resuming } from './resuming.ts';
import { JobsStore } from './store.ts';
import { createSubmitting, type Submitting } from './submit/submitting.ts';
import { createSubmitSweeps } from './submit/sweeps.ts';
import { createUndoing } from './submit/undoing.ts';

/** The documents of jobs. */
export interface JobStores {
  jobs: JobsStore;
  items: ItemsStore;
  definitions: Definitions;
}

export async function openJobStores(documents: Documents, now: () => Date): Promise<JobStores> {
  const [jobs, items] = await Promise.all([JobsStore.open(documents, now), ItemsStore.open(documents, now)]);
  return { jobs, items, definitions: createDefinitions(jobs) };
}

export interface LifecycleOptions {
  stores: JobStores;
  perform: Perform;
  coordination: Coordination;
  objects: Objects;
  assets: AssetsForJobs;
  holds: Holds;
  events: Events;
  plan: (id: string) => { retentionDays: number; storedAssets: number };
  storedAssets: (accountId: string) => Promise<number>;
  upgradeUrl: () => string;
  /** Bytes of requests that the jobs of one account may keep. */
  keptBytesMax: number;
  /** Names this process among all that share the stores. */
  owner: string;
  /** Items that this process can work on at once. */
  widths: Record<WorkKind, () => number>;
  /** Called when a job has ended, in whichever process; with the job where that was this one. */
  onEnd: (jobId: string, job?: JobDocument) => void;
  draining: AbortSignal;
  now: () => Date;
  log: { warn(context: object, message: string): void };
}

/** The life of jobs without their interface: from the submit to the end of their records. */
export interface Lifecycle {
  submit: Submitting;
  cancel: Cancelling;
  resuming: Resuming;
  reading: Reading;
  /** Looks at every running job, for wake-ups that were lost. */
  lookAround(): Promise<void>;
  sweeps: SweepTask[];
  installMetrics(): void;
  stop(): Promise<void>;
}

/** One in every process that shares the stores. */
export async function openLifecycle(options: LifecycleOptions): Promise<Lifecycle> {
  const { stores, assets, holds, plan, storedAssets, upgradeUrl, keptBytesMax, now } = options;
  const { jobs, items, definitions } = stores;
  const engine = await openEngine({
    jobs,
    items,
    perform: options.perform,
    coordination: options.coordination,
    objects: options.objects,
    assets,
    holds,
    events: options.events,
    owner: options.owner,
    widths: options.widths,
    onEnd: options.onEnd,
    draining: options.draining,
    now,
    log: options.log,
  });
  const { admission, completion, outcomes, preclaim, stopClaims } = engine;
  const undoing = createUndoing({ jobs, items, holds, quota: assets.quota });
  const submit = createSubmitting({
    ...{ jobs, items, definitions, holds, quota: assets.quota },
    ...{ admission, preclaim, undoing },
    ...{ plan, storedAssets, upgradeUrl, keptBytesMax, now },
  });
  const reading = createReading({ jobs, outcomes, completion });
  return {
    submit,
    cancel: createCancelling({ jobs, reading, completion, stopClaims }),
    resuming: createResuming({ jobs, reading, items, definitions, assets, submit }),
    reading,
    lookAround: engine.lookAround,
    sweeps: [...engine.sweeps, ...createSubmitSweeps({ jobs, quota: assets.quota, undoing })],
    installMetrics: engine.installMetrics,
    stop: engine.stop,
  };
}

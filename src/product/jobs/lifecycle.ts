import type { SweepTask } from '../../platform/periodic-tasks.ts';
import type { Documents } from '../../platform/stores/documents/port.ts';
import { type Cancelling, createCancelling } from './cancelling.ts';
import { createDefinitions, type Definitions } from './definitions/definitions.ts';
import { openEngine } from './engine/open.ts';
import type { EngineOptions } from './engine/options.ts';
import { ItemsStore } from './items-store.ts';
import { createReading, type Reading } from './reading.ts';
import { createResuming, type Resuming } from './resuming.ts';
import { JobsStore } from './store.ts';
import { createSubmitting, type SubmitLimits, type Submitting } from './submit/submitting.ts';
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

export interface LifecycleOptions extends Omit<EngineOptions, 'jobs' | 'items'>, SubmitLimits {
  stores: JobStores;
}

/** The life of jobs from the submit to the end of their retention, without their HTTP interface. */
export interface Lifecycle {
  submit: Submitting;
  cancel: Cancelling;
  resuming: Resuming;
  reading: Reading;
  /** Polls every running job, for wake-ups that were lost. */
  pollJobs(): Promise<void>;
  sweeps: SweepTask[];
  installMetrics(): void;
  stop(): Promise<void>;
}

/** Every process that shares the stores has one. */
export async function openLifecycle(options: LifecycleOptions): Promise<Lifecycle> {
  const { stores, assets, holds, plan, countAssets, topUpUrl, keptBytesMax, now } = options;
  const { jobs, items, definitions } = stores;
  const { quota } = assets;
  const engine = await openEngine({ ...options, jobs, items });
  const { admission, completion, outcomes, preclaim, stopClaims } = engine;
  const undoing = createUndoing({ jobs, items, holds, quota });
  const submit = createSubmitting({
    ...{ jobs, items, definitions, holds, quota },
    ...{ admission, preclaim, undoing },
    ...{ plan, countAssets, topUpUrl, keptBytesMax, now },
  });
  const reading = createReading({ jobs, outcomes, completion });
  return {
    submit,
    cancel: createCancelling({ jobs, reading, completion, stopClaims }),
    resuming: createResuming({ jobs, items, definitions, assets, reading, submit }),
    reading,
    pollJobs: engine.pollJobs,
    sweeps: [...engine.sweeps, undoing.sweep],
    installMetrics: engine.installMetrics,
    stop: engine.stop,
  };
}

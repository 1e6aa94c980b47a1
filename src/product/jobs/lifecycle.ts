import type { Documents } from '../../platform/stores/documents/port.ts';
import { createCancelling } from './cancelling.ts';
import { createDefinitions } from './definitions/definitions.ts';
import { openEngine } from './engine/open.ts';
import type { EngineOptions } from './engine/options.ts';
import { ItemsStore } from './items-store.ts';
import { createReading } from './reading.ts';
import { createResuming } from './resuming.ts';
import { JobsStore } from './store.ts';
import { createSubmitting, type SubmitLimits } from './submit/submitting.ts';
import { createUndoing } from './submit/undoing.ts';

/** The documents of jobs. */
export type JobStores = Awaited<ReturnType<typeof openJobStores>>;

export async function openJobStores(documents: Documents, now: () => Date) {
  const [jobs, items] = await Promise.all([JobsStore.open(documents, now), ItemsStore.open(documents, now)]);
  return { jobs, items, definitions: createDefinitions(jobs) };
}

export interface LifecycleOptions extends Omit<EngineOptions, 'jobs' | 'items'>, SubmitLimits {
  stores: JobStores;
}

export type Lifecycle = Awaited<ReturnType<typeof openLifecycle>>;

/**
 * The life of jobs from the submit to the end of their retention, without their HTTP interface. Every process that
 * shares the stores has one.
 */
export async function openLifecycle({ stores, ...options }: LifecycleOptions) {
  const { quota } = options.assets;
  const engine = await openEngine({ ...options, ...stores });
  const undoing = createUndoing({ ...options, ...stores, quota });
  const submit = createSubmitting({ ...options, ...stores, ...engine, quota, undoing });
  const reading = createReading({ ...stores, ...engine });
  return {
    submit,
    cancel: createCancelling({ ...stores, ...engine, reading }),
    resuming: createResuming({ ...options, ...stores, reading, submit }),
    reading,
    lookAround: engine.lookAround,
    sweeps: [...engine.sweeps, undoing.sweep],
    installMetrics: engine.installMetrics,
    stop: engine.stop,
  };
}

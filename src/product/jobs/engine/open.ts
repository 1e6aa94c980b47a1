import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { Objects } from '../../../platform/stores/objects/port.ts';
import type { SweepTask } from '../../../platform/sweeping/sweeper.ts';
import type { Log } from '../../../platform/tracing/log.ts';
import type { AssetsForJobs } from '../../assets/open.ts';
import type { Holds } from '../../billing/holds.ts';
import type { Events } from '../../events/open.ts';
import type { Perform } from '../item-work.ts';
import type { ItemsStore } from '../items-store.ts';
import type { JobDocument } from '../job.ts';
import type { JobsStore } from '../store.ts';
import type { WorkKind } from './active-job.ts';
import { createJobAdmission, type JobAdmission } from './admission.ts';
import { type Completion, createCompletion } from './completion.ts';
import { createCompletionUpdates } from './completion-update.ts';
import { createJobMetrics } from './metrics.ts';
import { createOutcomeBatcher } from './outcome-batcher.ts';
import { createOutcomes, type Outcomes } from './outcomes.ts';
import { createRunner, type Runner } from './runner.ts';
import { createSignals } from './signals.ts';
import { createJobSweeps } from './sweeps.ts';

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

/** Moves accepted jobs to their end: claims their items, has them worked on, records outcomes and completes jobs. */
interface Engine {
  admission: JobAdmission;
  completion: Completion;
  outcomes: Outcomes;
  preclaim: Runner['preclaim'];
  /** Has every process claim no more items of a job. */
  stopClaims(jobId: string): void;
  /** Looks at every running job, for wake-ups that were lost. */
  lookAround: Runner['lookAround'];
  sweeps: SweepTask[];
  installMetrics(): void;
  stop(): Promise<void>;
}

/** How often a process looks at the running jobs by itself: messages may be lost. */
const LOOK_MS = 15_000;

export async function openEngine(options: EngineOptions): Promise<Engine> {
  const { jobs, items, objects, assets, holds, events, draining, now, log } = options;
  const { quota, outputs } = assets;
  const signals = createSignals(options.coordination, log);
  const metrics = createJobMetrics(jobs, () => runner.itemsAtWork(), now);

  const updates = createCompletionUpdates({ items, events, now });
  const outcomes = createOutcomes({ jobs, items, events, updates, showOutputs: outputs.show, now });
  const admission = createJobAdmission(jobs, (job) => {
    if (!runner.start(job)) signals.work(job._id);
  });
  const completion = createCompletion({
    ...{ jobs, items, outcomes, updates, holds, quota, events },
    startWaiting: admission.startWaiting,
    deleteObject: (key) => objects.delete(key),
    notifyHere: (job) => options.onEnd(job._id, job),
    notifyAll: (job) => signals.end(job._id),
  });
  const runner = createRunner({
    ...{ jobs, items, draining, now, log },
    owner: options.owner,
    perform: options.perform,
    batcher: createOutcomeBatcher({ jobs, items, outcomes, completion }),
    discard: outputs.discard,
    widths: options.widths,
    metrics: metrics.runner,
  });

  const look = () => {
    runner
      .lookAround()
      .catch((error: unknown) => log.warn({ err: error }, 'The running jobs were not looked at'));
  };
  const unsubscribe = await signals.subscribe({
    onWork: runner.wake,
    onEnd: options.onEnd,
    onStop: runner.leave,
  });
  // This comes after the subscription: a job that was announced before it is found now.
  look();
  const looking = setInterval(look, LOOK_MS);
  looking.unref();

  return {
    admission,
    completion,
    outcomes,
    preclaim: runner.preclaim,
    stopClaims(jobId) {
      runner.leave(jobId);
      signals.stop(jobId);
    },
    lookAround: runner.lookAround,
    sweeps: createJobSweeps({
      ...{ jobs, items, outcomes, completion, admission, assets, objects },
      announceWork: signals.work,
      onExpiredLease: metrics.leaseExpired,
    }),
    installMetrics: metrics.install,
    async stop() {
      clearInterval(looking);
      await runner.stop();
      unsubscribe();
    },
  };
}

import type { SweepTask } from '../../../platform/periodic-tasks.ts';
import { createJobAdmission, type JobAdmission } from './admission.ts';
import { type Completion, createCompletion } from './completion.ts';
import { createCompletionUpdates } from './completion-update.ts';
import { createJobMetrics } from './metrics.ts';
import type { EngineOptions } from './options.ts';
import { createOutcomeBatcher } from './outcome-batcher.ts';
import { createOutcomes, type Outcomes } from './outcomes.ts';
import { createRunner, type Runner } from './runner.ts';
import { createSignals } from './signals.ts';
import { createJobSweeps } from './sweeps.ts';

/** Moves accepted jobs to their end: claims their items, has them worked on, records outcomes and completes jobs. */
interface Engine {
  admission: JobAdmission;
  completion: Completion;
  outcomes: Outcomes;
  preclaim: Runner['preclaim'];
  /** Has every process claim no more items of a job. */
  stopClaims(jobId: string): void;
  /** Polls every running job, for wake-ups that were lost. */
  pollJobs: Runner['pollJobs'];
  sweeps: SweepTask[];
  installMetrics(): void;
  stop(): Promise<void>;
}

/** The interval at which a process polls the running jobs, because messages may be lost. */
const POLL_MS = 15_000;

export async function openEngine(options: EngineOptions): Promise<Engine> {
  const { jobs, items, objects, assets, holds, events, draining, onEnd, now, log } = options;
  const { perform, owner, widths } = options;
  const signals = createSignals(options.coordination, log);
  const metrics = createJobMetrics(jobs, () => runner.itemsAtWork(), now);

  const updates = createCompletionUpdates({ items, events, now });
  const outcomes = createOutcomes({ jobs, items, assets, events, updates, now });
  const admission = createJobAdmission(jobs, (job) => {
    if (!runner.start(job)) signals.work(job._id);
  });
  const completion = createCompletion({
    ...{ jobs, items, objects, assets, holds, events },
    ...{ outcomes, updates, admission, signals, onEnd },
  });
  const batcher = createOutcomeBatcher({ jobs, items, outcomes, completion });
  const runner = createRunner({
    ...{ jobs, items, assets, batcher, perform },
    ...{ owner, widths, draining, metrics, now, log },
  });

  const poll = () => {
    runner.pollJobs().catch((error: unknown) => log.warn({ err: error }, 'The running jobs were not polled'));
  };
  const unsubscribe = await signals.subscribe({
    onWork: runner.wake,
    onEnd,
    onStop: runner.stopClaims,
  });
  // This comes after the subscription: a job that was announced before it is found now.
  poll();
  const polling = setInterval(poll, POLL_MS);
  polling.unref();

  return {
    admission,
    completion,
    outcomes,
    preclaim: runner.preclaim,
    stopClaims(jobId) {
      runner.stopClaims(jobId);
      signals.stop(jobId);
    },
    pollJobs: runner.pollJobs,
    sweeps: createJobSweeps({
      ...{ jobs, items, outcomes, completion, admission, assets, objects },
      announceWork: signals.work,
      onExpiredLease: (followedBy) => metrics.leases.inc({ followed_by: followedBy }),
    }),
    installMetrics: metrics.install,
    async stop() {
      clearInterval(polling);
      await runner.stop();
      unsubscribe();
    },
  };
}

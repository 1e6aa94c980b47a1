import { createJobAdmission } from './admission.ts';
import { createCompletion } from './completion.ts';
import { createCompletionUpdates } from './completion-update.ts';
import { createJobMetrics } from './metrics.ts';
import type { EngineOptions } from './options.ts';
import { createOutcomeBatcher } from './outcome-batcher.ts';
import { createOutcomes } from './outcomes.ts';
import { createRunner, type Runner } from './runner.ts';
import { createSignals } from './signals.ts';
import { createJobSweeps } from './sweeps.ts';

/** How often a process looks at the running jobs by itself: messages may be lost. */
const LOOK_MS = 15_000;

/** Moves accepted jobs to their end: claims their items, has them worked on, records outcomes and completes jobs. */
export async function openEngine(options: EngineOptions) {
  const { jobs, items, now, log } = options;
  const signals = createSignals(options.coordination, log);
  const metrics = createJobMetrics(jobs, () => runner.itemsAtWork(), now);

  const updates = createCompletionUpdates(options);
  const outcomes = createOutcomes({ ...options, updates });
  const admission = createJobAdmission(jobs, (job) => {
    if (!runner.start(job)) signals.work(job._id);
  });
  const completion = createCompletion({ ...options, outcomes, updates, admission, signals });
  const batcher = createOutcomeBatcher({ jobs, items, outcomes, completion });
  const runner: Runner = createRunner({ ...options, batcher, metrics });

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
    /** Has every process claim no more items of a job. */
    stopClaims(jobId: string): void {
      runner.leave(jobId);
      signals.stop(jobId);
    },
    /** Looks at every running job, for wake-ups that were lost. */
    lookAround: runner.lookAround,
    sweeps: createJobSweeps({
      ...{ ...options, outcomes, completion, admission },
      announceWork: signals.work,
      onExpiredLease: (followedBy) => metrics.leases.inc({ followed_by: followedBy }),
    }),
    installMetrics: metrics.install,
    async stop(): Promise<void> {
      clearInterval(looking);
      await runner.stop();
      unsubscribe();
    },
  };
}

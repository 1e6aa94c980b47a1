import type { SweepTask } from '../../platform/periodic-tasks.ts';
import type { JobsContext } from './context.ts';
import { JobAdmission } from './engine/admission.ts';
import { JobCompletion } from './engine/completion.ts';
import { JobMetrics } from './engine/metrics.ts';
import { OutcomeBatcher } from './engine/outcome-batcher.ts';
import { OutcomeRecorder } from './engine/outcomes.ts';
import { JobRunner } from './engine/runner.ts';
import { sendJobSignal, subscribeToJobSignals } from './engine/signals.ts';
import { JobSweeps } from './engine/sweeps.ts';
import { notCancellableError } from './errors.ts';
import type { JobDocument } from './job.ts';
import { JobReader } from './reading.ts';
import type { PerformItemWork } from './rules.ts';
import { JobResuming } from './submit/resuming.ts';
import { JobSubmission } from './submit/submitting.ts';
import { JOB_TRANSITIONS } from './transitions.ts';

/** The interval at which running jobs are polled, because wake-up messages may be lost. */
const JOB_POLL_INTERVAL_MS = 15_000;

/**
 * The life of jobs from submit to expiry, without HTTP. Each API process has one instance. It submits jobs, works on
 * their items, records outcomes, completes jobs, and cleans up after dead processes.
 */
export class JobLifecycle {
  readonly submit: JobSubmission['submit'];
  readonly resuming: JobResuming;
  readonly reading: JobReader;
  readonly metrics: JobMetrics;
  readonly sweeps: readonly SweepTask[];
  readonly #context: JobsContext;
  readonly #runner: JobRunner;
  readonly #completion: JobCompletion;
  #unsubscribe = () => {};
  #polling: NodeJS.Timeout | undefined;

  private constructor(context: JobsContext, perform: PerformItemWork) {
    const { jobs, items } = context;
    const admission = new JobAdmission(jobs, (job) => {
      if (!runner.start(job)) sendJobSignal(context, 'work', job._id);
    });
    const outcomes = new OutcomeRecorder(context);
    const completion = new JobCompletion(context, { outcomes, admission });
    const batcher = new OutcomeBatcher({ items, outcomes, completion });
    const metrics = new JobMetrics({ jobs, itemsAtWork: () => runner.itemsAtWork() });
    const runner = new JobRunner(context, { perform, batcher, completion, metrics });
    const submission = new JobSubmission(context, { admission, runner });
    const { tasks } = new JobSweeps(context, { outcomes, completion, admission, metrics });
    this.#context = context;
    this.#runner = runner;
    this.#completion = completion;
    this.metrics = metrics;
    this.submit = submission.submit;
    this.reading = new JobReader(context, { completion, outcomes });
    this.resuming = new JobResuming(context, { reading: this.reading, submit: this.submit });
    this.sweeps = [...tasks, submission.sweep];
  }

  static async open(context: JobsContext, perform: PerformItemWork): Promise<JobLifecycle> {
    const lifecycle = new JobLifecycle(context, perform);
    const { wake, stopClaims } = lifecycle.#runner;
    const handlers = { work: wake, end: context.onEnd, stop: stopClaims };
    lifecycle.#unsubscribe = await subscribeToJobSignals(context, handlers);
    const poll = () => {
      lifecycle
        .pollJobs()
        .catch((error: unknown) => context.log.warn({ err: error }, 'The running jobs were not polled'));
    };
    // The first poll comes after the subscription. It finds the jobs that were announced before the subscription, so
    // that none is missed.
    poll();
    lifecycle.#polling = setInterval(poll, JOB_POLL_INTERVAL_MS);
    lifecycle.#polling.unref();
    return lifecycle;
  }

  /**
   * Cancels a job: unclaimed items are cancelled at once, and running items may finish.
   * @returns the job, which is already CANCELLED when no item was running.
   * @throws ApiError job_not_found; invalid_state when the job has ended, or is being cancelled already.
   */
  async cancel(accountId: string, jobId: string): Promise<JobDocument> {
    await this.reading.find(accountId, jobId);
    const cancelling = await this.#context.jobs.move(jobId, JOB_TRANSITIONS.cancel);
    if (cancelling === null) throw notCancellableError((await this.reading.find(accountId, jobId)).status);
    this.#runner.stopClaims(jobId);
    sendJobSignal(this.#context, 'stop', jobId);
    return this.#completion.completeIfOver(cancelling);
  }

  /** Looks for items in every running job, in case a wake-up message was lost. */
  pollJobs(): Promise<void> {
    return this.#runner.pollJobs();
  }

  async stop(): Promise<void> {
    clearInterval(this.#polling);
    await this.#runner.stop();
    this.#unsubscribe();
  }
}

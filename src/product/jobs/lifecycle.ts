import type { SweepTask } from '../../platform/periodic-tasks.ts';
import { beginCancellation } from './cancelling.ts';
import type { JobsContext } from './context.ts';
import { JobEngine } from './engine/open.ts';
import { notCancellableError } from './errors.ts';
import type { PerformItemWork } from './rules.ts';
import type { JobDocument } from './job.ts';
import { JobReader } from './reading.ts';
import { JobResuming } from './submit/resuming.ts';
import { JobSubmission } from './submit/submitting.ts';
import { SubmissionUndoing } from './submit/undoing.ts';

/** The life cycle of jobs from submit to expiry, without HTTP. Every process that shares the stores has one. */
export class JobLifecycle {
  readonly submit: JobSubmission['submit'];
  readonly resuming: JobResuming;
  readonly reading: JobReader;
  readonly sweeps: readonly SweepTask[];
  readonly #context: JobsContext;
  readonly #engine: JobEngine;

  private constructor(context: JobsContext, engine: JobEngine) {
    this.#context = context;
    this.#engine = engine;
    const undoing = new SubmissionUndoing(context);
    this.submit = new JobSubmission(context, { engine, undoing }).submit;
    this.reading = new JobReader(context, engine);
    this.resuming = new JobResuming(context, { reading: this.reading, submit: this.submit });
    this.sweeps = [...engine.sweeps, undoing.task];
  }

  static async open(context: JobsContext, perform: PerformItemWork): Promise<JobLifecycle> {
    return new JobLifecycle(context, await JobEngine.open(context, perform));
  }

  /**
   * Cancels a job: unclaimed items are cancelled at once, running items are finished.
   * @returns the job, which is already CANCELLED when no item was running.
   * @throws ApiError job_not_found; invalid_state when it has ended, or is being cancelled.
   */
  async cancel(accountId: string, jobId: string): Promise<JobDocument> {
    await this.reading.find(accountId, jobId);
    const cancelling = await beginCancellation(this.#context.jobs, jobId, this.#engine.stopClaims);
    if (cancelling === null) throw notCancellableError((await this.reading.find(accountId, jobId)).status);
    return this.#engine.completion.completeIfOver(cancelling);
  }

  /** Looks at every running job, in case a wake-up message was lost. */
  pollJobs(): Promise<void> {
    return this.#engine.runner.pollJobs();
  }

  installMetrics(): void {
    this.#engine.metrics.install();
  }

  stop(): Promise<void> {
    return this.#engine.stop();
  }
}

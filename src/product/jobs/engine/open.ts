import type { SweepTask } from '../../../platform/periodic-tasks.ts';
import type { JobsContext } from '../context.ts';
import type { PerformItemWork } from '../rules.ts';
import { JobAdmission } from './admission.ts';
import { JobCompletion } from './completion.ts';
import { JobMetrics } from './metrics.ts';
import { OutcomeBatcher } from './outcome-batcher.ts';
import { OutcomeRecorder } from './outcomes.ts';
import { JobRunner } from './runner.ts';
import { JobSignals } from './signals.ts';
import { JobSweeps } from './sweeps.ts';

/** The interval at which running jobs are polled, because messages may be lost. */
const POLL_MS = 15_000;

/** Moves accepted jobs to their end: claims their items, has them worked on, records outcomes and completes jobs. */
export class JobEngine {
  readonly admission: JobAdmission;
  readonly completion: JobCompletion;
  readonly outcomes: OutcomeRecorder;
  readonly runner: JobRunner;
  readonly sweeps: readonly SweepTask[];
  readonly metrics: JobMetrics;
  readonly #context: JobsContext;
  readonly #signals: JobSignals;
  #unsubscribe = () => {};
  #polling: NodeJS.Timeout | undefined;

  private constructor(context: JobsContext, perform: PerformItemWork) {
    this.#context = context;
    const { jobs, items, now } = context;
    const signals = new JobSignals(context);
    const metrics = new JobMetrics({ jobs, now, itemsAtWork: () => this.runner.itemsAtWork() });
    const outcomes = new OutcomeRecorder(context, (job, tally) =>
      this.completion.prepareWithRecording(job, tally),
    );
    const admission = new JobAdmission(jobs, (job) => {
      if (!this.runner.start(job)) signals.work(job._id);
    });
    const completion = new JobCompletion(context, { outcomes, admission, signals });
    const batcher = new OutcomeBatcher({ jobs, items, outcomes, completion });
    this.runner = new JobRunner(context, { perform, batcher, metrics });
    this.sweeps = new JobSweeps(context, { outcomes, completion, admission, signals, metrics }).tasks;
    this.admission = admission;
    this.completion = completion;
    this.outcomes = outcomes;
    this.metrics = metrics;
    this.#signals = signals;
  }

  static async open(context: JobsContext, perform: PerformItemWork): Promise<JobEngine> {
    const engine = new JobEngine(context, perform);
    await engine.#start();
    return engine;
  }

  /** Tells every process to claim no further items of a job, and to give up those that wait for a worker. */
  stopClaims = (jobId: string): void => {
    this.runner.stopClaims(jobId);
    this.#signals.stop(jobId);
  };

  async stop(): Promise<void> {
    clearInterval(this.#polling);
    await this.runner.stop();
    this.#unsubscribe();
  }

  async #start(): Promise<void> {
    const { onEnd } = this.#context;
    const { wake: onWork, stopClaims: onStop } = this.runner;
    this.#unsubscribe = await this.#signals.subscribe({ onWork, onEnd, onStop });
    // This follows the subscription, so that jobs which were announced before it are found now.
    this.#poll();
    this.#polling = setInterval(() => this.#poll(), POLL_MS);
    this.#polling.unref();
  }

  #poll(): void {
    const { log } = this.#context;
    this.runner
      .pollJobs()
      .catch((error: unknown) => log.warn({ err: error }, 'The running jobs were not polled'));
  }
}

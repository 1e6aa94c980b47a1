import type { JobsContext } from '../context.ts';

const CHANNELS = {
  /** A job may have items to claim. */
  work: 'jobs/work',
  /** A job has ended. */
  end: 'jobs/end',
  /**
   * A job is being cancelled: no more of its items may be claimed, and the work on claimed items must not begin any
   * more.
   */
  stop: 'jobs/stop',
} as const;

type JobSignal = keyof typeof CHANNELS;

/**
 * Messages between the processes of all hosts. Each concerns one job. A message may be lost, so every receiver also
 * polls at a longer interval.
 */
export class JobSignals {
  readonly #context: Pick<JobsContext, 'coordination' | 'log'>;

  constructor(context: Pick<JobsContext, 'coordination' | 'log'>) {
    this.#context = context;
  }

  send(signal: JobSignal, jobId: string): void {
    const { coordination, log } = this.#context;
    coordination
      .publish(CHANNELS[signal], jobId)
      .catch((error: unknown) => log.warn({ err: error }, 'A wake-up for jobs was not sent'));
  }

  /** Subscribes to the messages. Resolves with a function that unsubscribes. Messages may arrive before it resolves. */
  async subscribe(handlers: Record<JobSignal, (jobId: string) => void>): Promise<() => void> {
    const signals = Object.keys(CHANNELS) as JobSignal[];
    const ends = await Promise.all(
      signals.map((signal) => this.#context.coordination.subscribe(CHANNELS[signal], handlers[signal])),
    );
    return () => {
      for (const end of ends) end();
    };
  }
}

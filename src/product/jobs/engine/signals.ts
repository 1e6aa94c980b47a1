import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { EventLog } from '../../../platform/tracing/tracing.ts';

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
  readonly #coordination: Coordination;
  readonly #log: EventLog;

  constructor({ coordination, log }: { coordination: Coordination; log: EventLog }) {
    this.#coordination = coordination;
    this.#log = log;
  }

  send(signal: JobSignal, jobId: string): void {
    this.#coordination
      .publish(CHANNELS[signal], jobId)
      .catch((error: unknown) => this.#log.warn({ err: error }, 'A wake-up for jobs was not sent'));
  }

  /** Subscribes to the messages. Resolves with a function that unsubscribes. Messages may arrive before it resolves. */
  async subscribe(handlers: Record<JobSignal, (jobId: string) => void>): Promise<() => void> {
    const ends = await Promise.all([
      this.#coordination.subscribe(CHANNELS.work, handlers.work),
      this.#coordination.subscribe(CHANNELS.end, handlers.end),
      this.#coordination.subscribe(CHANNELS.stop, handlers.stop),
    ]);
    return () => {
      for (const end of ends) end();
    };
  }
}

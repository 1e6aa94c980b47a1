import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { EventLog } from '../../../platform/tracing/tracing.ts';

const CHANNELS = {
  /** A job has items to claim. */
  work: 'jobs/work',
  /** A job has ended. */
  end: 'jobs/end',
  /** A job is being cancelled: no more of its items may be claimed or begun. */
  stop: 'jobs/stop',
} as const;

type JobSignal = keyof typeof CHANNELS;

/**
 * Messages between the processes of all hosts, each about one job. A message may be lost, so every receiver also polls,
 * less often.
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

  /**
   * Resolves with a function that unsubscribes. Messages may arrive before it resolves, so the handlers must be ready.
   */
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

import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { EventLog } from '../../../platform/tracing/log.ts';

const WORK = 'jobs/work';
const END_CHANNEL = 'jobs/end';
const STOP = 'jobs/stop';

interface SignalHandlers {
  /** A job has items to claim. */
  onWork: (jobId: string) => void;
  /** A job has ended. */
  onEnd: (jobId: string) => void;
  /** Called when a job is being cancelled: no item may be claimed, and no waiting item may begin. */
  onStop: (jobId: string) => void;
}

/**
 * Messages among all processes of all hosts about new work and ended jobs. A message may be lost, so every receiver
 * also polls, less often.
 */
export class JobSignals {
  readonly #coordination: Coordination;
  readonly #log: EventLog;

  constructor({ coordination, log }: { coordination: Coordination; log: EventLog }) {
    this.#coordination = coordination;
    this.#log = log;
  }

  /** Announces that a job has items to claim. */
  work = (jobId: string): void => this.#send(WORK, jobId);

  /** Announces that a job has ended. */
  end = (jobId: string): void => this.#send(END_CHANNEL, jobId);

  /** Announces that a job is being cancelled. */
  stop = (jobId: string): void => this.#send(STOP, jobId);

  /** Resolves with a function that unsubscribes. Messages may arrive before, so the handlers must be ready. */
  async subscribe({ onWork, onEnd, onStop }: SignalHandlers): Promise<() => void> {
    const ends = await Promise.all([
      this.#coordination.subscribe(WORK, onWork),
      this.#coordination.subscribe(END_CHANNEL, onEnd),
      this.#coordination.subscribe(STOP, onStop),
    ]);
    return () => {
      for (const end of ends) end();
    };
  }

  #send(channel: string, jobId: string): void {
    this.#coordination
      .publish(channel, jobId)
      .catch((error: unknown) => this.#log.warn({ err: error }, 'A wake-up for jobs was not sent'));
  }
}

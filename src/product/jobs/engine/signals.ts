import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { Log } from '../../../platform/tracing/log.ts';

const WORK = 'jobs/work';
const END_CHANNEL = 'jobs/end';
const STOP = 'jobs/stop';

interface SignalHandlers {
  /** A job has items to claim. */
  onWork: (jobId: string) => void;
  /** A job has ended. */
  onEnd: (jobId: string) => void;
  /** A job is being cancelled: none of its items may be claimed. */
  onStop: (jobId: string) => void;
}

/**
 * Messages among all processes of all hosts about new work and ended jobs. A message may be lost, so every receiver
 * also polls, less often.
 */
export interface Signals {
  /** Announces that a job has items to claim. */
  work(jobId: string): void;
  /** Announces that a job has ended. */
  end(jobId: string): void;
  /** Announces that a job is being cancelled. */
  stop(jobId: string): void;
  /**
   * Resolves with a function that unsubscribes. A message may arrive before that, so the handlers must be ready.
   */
  subscribe(handlers: SignalHandlers): Promise<() => void>;
}

export function createSignals(coordination: Coordination, log: Log): Signals {
  function send(channel: string, jobId: string): void {
    coordination
      .publish(channel, jobId)
      .catch((error: unknown) => log.warn({ err: error }, 'A wake-up for jobs was not sent'));
  }

  return {
    work: (jobId) => send(WORK, jobId),
    end: (jobId) => send(END_CHANNEL, jobId),
    stop: (jobId) => send(STOP, jobId),

    async subscribe({ onWork, onEnd, onStop }) {
      const ends = await Promise.all([
        coordination.subscribe(WORK, onWork),
        coordination.subscribe(END_CHANNEL, onEnd),
        coordination.subscribe(STOP, onStop),
      ]);
      return () => {
        for (const end of ends) end();
      };
    },
  };
}

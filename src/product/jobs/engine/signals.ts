import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { Log } from '../../../platform/tracing/log.ts';

const WORK = 'jobs/work';
const END = 'jobs/end';
const STOP = 'jobs/stop';

interface SignalHandlers {
  /** A job has items to claim. */
  onWork: (jobId: string) => void;
  /** A job has ended. */
  onEnd: (jobId: string) => void;
  /** A job is being cancelled: no more items of it are to be claimed. */
  onStop: (jobId: string) => void;
}

/**
 * Wake-ups among all processes of all hosts: what there is to do, and what is done. Each may be lost: who waits looks
 * for himself as well, only later.
 */
export function createSignals(coordination: Coordination, log: Log) {
  function send(channel: string, jobId: string): void {
    coordination
      .publish(channel, jobId)
      .catch((error: unknown) => log.warn({ err: error }, 'A wake-up for jobs was not sent'));
  }

  return {
    work: (jobId: string) => send(WORK, jobId),
    end: (jobId: string) => send(END, jobId),
    stop: (jobId: string) => send(STOP, jobId),

    /**
     * Resolves with a function that unsubscribes. A message may come before that: the handlers must be ready by now.
     */
    async subscribe({ onWork, onEnd, onStop }: SignalHandlers): Promise<() => void> {
      const ends = await Promise.all([
        coordination.subscribe(WORK, onWork),
        coordination.subscribe(END, onEnd),
        coordination.subscribe(STOP, onStop),
      ]);
      return () => {
        for (const end of ends) end();
      };
    },
  };
}

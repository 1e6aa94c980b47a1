import type { Coordination } from '../../stores/coordination/port.ts';

const WORK = 'jobs/work';
const END = 'jobs/end';

export interface SignalsOptions {
  /** A job has items to claim. */
  onWork: (jobId: string) => void;
  /** A job has ended. */
  onEnd: (jobId: string) => void;
  log: { warn(context: object, message: string): void };
}

/**
 * Wake-ups among all processes of all hosts: what there is to do, and what is done. Each may be lost: who waits looks for
 * himself as well, only later.
 */
export async function createSignals(coordination: Coordination, { onWork, onEnd, log }: SignalsOptions) {
  const ends = await Promise.all([coordination.subscribe(WORK, onWork), coordination.subscribe(END, onEnd)]);

  function send(channel: string, jobId: string): void {
    coordination
      .publish(channel, jobId)
      .catch((error: unknown) => log.warn({ err: error }, 'A wake-up for jobs was not sent'));
  }

  return {
    work: (jobId: string) => send(WORK, jobId),
    end: (jobId: string) => send(END, jobId),
    close(): void {
      for (const end of ends) end();
    },
  };
}

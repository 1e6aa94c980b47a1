import type { JobsContext } from '../context.ts';

const SIGNAL_CHANNELS = {
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

type JobSignal = keyof typeof SIGNAL_CHANNELS;

/**
 * Sends a message about one job to the processes of all hosts. A message may be lost, so every receiver also polls at a
 * longer interval.
 */
export function sendJobSignal(
  { coordination, log }: Pick<JobsContext, 'coordination' | 'log'>,
  signal: JobSignal,
  jobId: string,
): void {
  coordination
    .publish(SIGNAL_CHANNELS[signal], jobId)
    .catch((error: unknown) => log.warn({ err: error }, 'A wake-up for jobs was not sent'));
}

/** Subscribes to the messages. Resolves with a function that unsubscribes. Messages may arrive before it resolves. */
export async function subscribeToJobSignals(
  { coordination }: Pick<JobsContext, 'coordination'>,
  handlers: Record<JobSignal, (jobId: string) => void>,
): Promise<() => void> {
  const signals = Object.keys(SIGNAL_CHANNELS) as JobSignal[];
  const unsubscribes = await Promise.all(
    signals.map((signal) => coordination.subscribe(SIGNAL_CHANNELS[signal], handlers[signal])),
  );
  return () => {
    for (const end of unsubscribes) end();
  };
}

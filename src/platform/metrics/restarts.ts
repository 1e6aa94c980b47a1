import { Counter, register } from 'prom-client';

/** Why a process of the service was replaced. */
export type RestartReason = (typeof REASONS)[number];
const REASONS = ['exit', 'signal', 'hung'] as const;

interface RestartMeter {
  restarted(reason: RestartReason): void;
  text(): Promise<string>;
}

/** The metrics of the primary; their text goes beside that of the API processes. */
export function createRestartMeter(): RestartMeter {
  const restarts = new Counter({
    name: 'darkroom_process_restarts_total',
    help: 'API processes that ended and were replaced, by reason: exit, signal (killed by the system or by somebody) or hung.',
    labelNames: ['reason'],
  });
  // An alert sees the first restart as a step from zero, and not as a series that begins at one.
  for (const reason of REASONS) restarts.inc({ reason }, 0);
  return {
    restarted: (reason) => restarts.inc({ reason }),
    text: () => register.metrics(),
  };
}

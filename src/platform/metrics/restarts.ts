import { Counter, register } from 'prom-client';

/** Why a process of the service was replaced. */
export type RestartReason = (typeof REASONS)[number];
const REASONS = ['exit', 'signal', 'hung'] as const;

interface RestartMeter {
  restarted(reason: RestartReason): void;
  text(): Promise<string>;
}

/** The metrics of the primary, whose text is added to that of the API processes. */
export function createRestartMeter(): RestartMeter {
  const restarts = new Counter({
    name: 'darkroom_process_restarts_total',
    help: 'API processes that ended and were replaced, by reason: exit, signal (killed by the system or by somebody) or hung.',
    labelNames: ['reason'],
  });
  // Starting at zero lets an alert see the first restart as an increase.
  for (const reason of REASONS) restarts.inc({ reason }, 0);
  return {
    restarted: (reason) => restarts.inc({ reason }),
    text: () => register.metrics(),
  };
}

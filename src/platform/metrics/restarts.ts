import { Counter, register } from 'prom-client';

/** Why a process of the service was replaced. */
type RestartReason = 'exit' | 'signal' | 'hung';

/** The metrics of the primary; their text goes beside that of the API processes. */
interface RestartMeter {
  restarted(reason: RestartReason): void;
  text(): Promise<string>;
}

export function createRestartMeter(): RestartMeter {
  const restarts = new Counter({
    name: 'darkroom_process_restarts_total',
    help: 'API processes that ended and were replaced, by reason: exit, signal (killed by the system or by somebody) or hung.',
    labelNames: ['reason'],
  });
  return {
    restarted: (reason) => restarts.inc({ reason }),
    text: () => register.metrics(),
  };
}

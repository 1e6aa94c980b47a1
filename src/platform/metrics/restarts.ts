import { Counter, register } from 'prom-client';

/** Why a process of the service was replaced. */
export type RestartReason = (typeof REASONS)[number];
const REASONS = ['exit', 'signal', 'hung'] as const;

/** The metrics of the primary. Their text is added to that of the API processes. */
export class RestartMeter {
  readonly #restarts = new Counter({
    name: 'darkroom_process_restarts_total',
    help: 'API processes that ended and were replaced, by reason: exit, signal (killed by the system or by somebody) or hung.',
    labelNames: ['reason'],
  });

  constructor() {
    // Starting at zero lets an alert see the first restart as an increase.
    for (const reason of REASONS) this.#restarts.inc({ reason }, 0);
  }

  restarted(reason: RestartReason): void {
    this.#restarts.inc({ reason });
  }

  text(): Promise<string> {
    return register.metrics();
  }
}

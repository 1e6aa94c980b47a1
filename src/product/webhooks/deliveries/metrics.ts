import { Counter, Gauge, Histogram } from 'prom-client';
import type { EndpointsStore } from '../endpoints/store.ts';
import type { DeliveriesStore, DeliveryDocument } from './store.ts';

const DELAY_BUCKETS_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300];
/** The label of the result of an attempt. */
const RESULTS = { DELIVERED: 'delivered', FAILED: 'failed', PENDING: 'retried' } as const;

/** The metrics of deliveries. Counts from the stores are equal in every process, so only one of them is exported. */
export class WebhookMetrics {
  readonly #inFlight = new Gauge({
    name: 'darkroom_webhook_attempts_in_flight',
    help: 'Webhook attempts under way.',
  });
  readonly #attempts = new Counter({
    name: 'darkroom_webhook_attempts_total',
    help: 'Webhook attempts by what they made of their delivery: delivered, failed for good, or retried later.',
    labelNames: ['result'],
  });
  readonly #delays = new Histogram({
    name: 'darkroom_webhook_first_attempt_delay_seconds',
    help: 'Time from an outcome to the beginning of the first attempt to announce it.',
    buckets: DELAY_BUCKETS_SECONDS,
  });

  constructor(endpoints: EndpointsStore, deliveries: DeliveriesStore, now: () => Date) {
    for (const result of Object.values(RESULTS)) this.#attempts.inc({ result }, 0);
    const due = () => deliveries.countDue(now());
    gaugeOf('darkroom_webhook_deliveries_due', 'Deliveries that are due and wait for their turn.', due);
    const disabled = () => endpoints.countDisabled();
    gaugeOf('darkroom_webhook_endpoints_disabled', 'Endpoints that are disabled.', disabled);
  }

  /** Runs an attempt. It counts as in flight meanwhile. */
  async inFlight<T>(run: () => Promise<T>): Promise<T> {
    this.#inFlight.inc();
    try {
      return await run();
    } finally {
      this.#inFlight.dec();
    }
  }

  /** Counts an attempt that was recorded. `startedAt` is when it began. */
  attempted(delivery: DeliveryDocument, status: DeliveryDocument['status'], startedAt: Date): void {
    this.#attempts.inc({ result: RESULTS[status] });
    if (delivery.attempts > 0 || delivery.dueAt === undefined) return;
    this.#delays.observe(Math.max(startedAt.getTime() - Date.parse(delivery.dueAt), 0) / 1000);
  }
}

function gaugeOf(name: string, help: string, count: () => Promise<number>): void {
  new Gauge({
    name,
    help,
    aggregator: 'max',
    async collect() {
      // During a store outage the last count stays, so that the other metrics remain readable.
      const counted = await count().catch(() => null);
      if (counted !== null) this.set(counted);
    },
  });
}

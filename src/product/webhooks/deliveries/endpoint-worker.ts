import { Counter, Gauge, Histogram } from 'prom-client';
import { declareGauge } from '../../../platform/metrics/gauge.ts';
import type { EventLog } from '../../../platform/tracing/tracing.ts';
import type { EndpointDisabling } from '../endpoints/disabling.ts';
import { type EndpointDocument, type EndpointsStore, MAX_CONSECUTIVE_FAILURES } from '../endpoints/store.ts';
import type { AttemptDelivery } from './attempt.ts';
import type { WorkerSlot } from './slots.ts';
import type { DeliveriesStore, DeliveryDocument } from './store.ts';

/** How many deliveries a worker sends in one turn. If there are more, other endpoints are served first. */
const MAX_DELIVERIES_PER_TURN = 20;

interface EndpointWorkerOptions {
  endpoints: EndpointsStore;
  deliveries: DeliveriesStore;
  disabling: EndpointDisabling;
  attempt: AttemptDelivery;
  metrics: WebhookMetrics;
  now: () => Date;
  log: EventLog;
}

/** What the dispatcher offers to a worker while the worker holds an endpoint. */
interface EndpointTurn extends Pick<WorkerSlot, 'recordAttempt'> {
  /**
   * Returns whether the worker may make another attempt, and whether its lease is long enough for it. The worker calls
   * it before each attempt.
   */
  mayContinue(): Promise<boolean>;
}

/**
 * Works on the queue of one endpoint for a while, one delivery at a time, the oldest due first. Each delivery is read
 * just before its attempt: it may have 256 KB, and there may be a thousand workers whose receivers are slow. The
 * endpoint is read again before each delivery.
 * @returns milliseconds until the endpoint is due again; null when its queue is empty.
 */
export type RunEndpointWorker = (
  accountId: string,
  endpointId: string,
  turn: EndpointTurn,
) => Promise<number | null>;

const DUE_NOW_MS = 0;

export function createEndpointWorker(options: EndpointWorkerOptions): RunEndpointWorker {
  const { endpoints, deliveries, disabling, attempt, metrics, now, log } = options;

  return async (accountId, endpointId, turn) => {
    for (let sent = 0; sent < MAX_DELIVERIES_PER_TURN; sent += 1) {
      const delivery = await deliveries.findNext(accountId, endpointId);
      // A delivery that was queued after this read has scheduled the endpoint again, so it is not missed.
      if (delivery === null) return null;
      const endpoint = await endpoints.find(accountId, endpointId);
      const isClosed = await closeIfUnsendable(delivery, endpoint);
      if (endpoint === null || isClosed) return DUE_NOW_MS;
      const waitMs = Date.parse(delivery.dueAt) - now().getTime();
      if (waitMs > 0) return waitMs;
      if (!(await turn.mayContinue())) return DUE_NOW_MS;
      await deliver(delivery, endpoint, turn);
    }
    return DUE_NOW_MS;
  };

  /**
   * Closes a delivery that must not be sent any more.
   * @returns whether it closed the delivery.
   */
  async function closeIfUnsendable(
    { accountId, endpointId, generation, error }: DeliveryDocument,
    endpoint: EndpointDocument | null,
  ): Promise<boolean> {
    if (endpoint === null) {
      await deliveries.closeQueued(accountId, endpointId, generation);
      return true;
    }
    if (endpoint.enabled && endpoint.consecutiveFailures >= MAX_CONSECUTIVE_FAILURES) {
      // The process that counted the last failure should have disabled the endpoint, but died before it did so.
      await disabling.disable(endpoint, error);
      return true;
    }
    // Generations are compared instead of instants. In this way, deliveries that were queued after the endpoint was
    // enabled again stay open.
    const last = endpoint.enabled ? endpoint.generation - 1 : endpoint.generation;
    if (generation > last) return !endpoint.enabled;
    await deliveries.closeQueued(accountId, endpointId, last);
    return true;
  }

  /** Makes an attempt and records it. */
  async function deliver(
    delivery: DeliveryDocument,
    endpoint: EndpointDocument,
    turn: EndpointTurn,
  ): Promise<void> {
    const startedAt = now();
    const beganMs = performance.now();
    const record = await metrics.countInFlight(() => attempt(delivery, endpoint));
    turn.recordAttempt(record.error !== null, performance.now() - beganMs);
    // The endpoint is changed before the attempt is recorded. If the process dies in between, the attempt is repeated,
    // but its failure is not counted twice.
    if (record.status === 'DELIVERED') {
      if (endpoint.consecutiveFailures > 0) await endpoints.clearFailures(endpoint.accountId, endpoint._id);
    } else if (record.status === 'FAILED' && delivery.isRetried) {
      await disabling.countFailure(endpoint, delivery._id, record.error);
    }
    const isRecorded = await deliveries.recordAttempt(delivery, record);
    if (record.dueAt !== null) {
      const attempts = delivery.attempts + 1;
      const { error: reason, dueAt } = record;
      log.debug?.({ delivery: delivery._id, attempts, reason, dueAt }, 'A delivery is tried again');
    }
    if (isRecorded) metrics.recordAttempt(delivery, record.status, startedAt);
  }
}

const DELAY_BUCKETS_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300];
const ATTEMPT_RESULT_LABELS = { DELIVERED: 'delivered', FAILED: 'failed', PENDING: 'retried' } as const;

/**
 * The metrics of deliveries. Every process reads the same counts of due deliveries and of disabled endpoints, so their
 * maximum is exported instead of their sum.
 */
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
    for (const result of Object.values(ATTEMPT_RESULT_LABELS)) this.#attempts.inc({ result }, 0);
    const countDue = () => deliveries.countDue(now());
    const dueHelp = 'Deliveries that are due and wait for their turn.';
    declareGauge('darkroom_webhook_deliveries_due', dueHelp, countDue, 'max');
    const countDisabled = () => endpoints.countDisabled();
    declareGauge('darkroom_webhook_endpoints_disabled', 'Endpoints that are disabled.', countDisabled, 'max');
  }

  /** Runs an attempt, and counts it as in flight until it ends. */
  async countInFlight<T>(run: () => Promise<T>): Promise<T> {
    this.#inFlight.inc();
    try {
      return await run();
    } finally {
      this.#inFlight.dec();
    }
  }

  /**
   * Counts a recorded attempt.
   * @param startedAt when the attempt began.
   */
  recordAttempt(delivery: DeliveryDocument, status: DeliveryDocument['status'], startedAt: Date): void {
    this.#attempts.inc({ result: ATTEMPT_RESULT_LABELS[status] });
    if (delivery.attempts > 0 || delivery.dueAt === undefined) return;
    this.#delays.observe(Math.max(startedAt.getTime() - Date.parse(delivery.dueAt), 0) / 1000);
  }
}

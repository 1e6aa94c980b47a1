import type { Attempt, AttemptResult } from './attempt.ts';
import type { DeliveriesStore, Settlement } from './deliveries.ts';
import type { DeliveryDocument } from './delivery.ts';
import type { Disabling } from './disabling.ts';
import type { EndpointDocument } from './endpoint.ts';
import { type EndpointsStore, MOST_CONSECUTIVE_FAILURES } from './endpoints.ts';
import type { WebhookMetrics } from './metrics.ts';
import { nextAttempt } from './retries.ts';

/** An endpoint with a long queue gives way to others after so many attempts. */
const ATTEMPTS_A_TURN = 50;

export interface LaneOptions {
  endpoints: EndpointsStore;
  deliveries: DeliveriesStore;
  disabling: Disabling;
  attempt: Attempt;
  metrics: WebhookMetrics;
  now: () => Date;
}

/**
 * Works through the queue of one endpoint: one delivery at a time, oldest due first, the endpoint read anew before each.
 * @param mayGoOn asked before each attempt: whether the lane is still held for as long as an attempt takes.
 * @returns milliseconds until the endpoint is due again; null when nothing is queued.
 */
export type Lane = (accountId: string, endpointId: string, mayGoOn: () => boolean) => Promise<number | null>;

export function createLane({ endpoints, deliveries, disabling, attempt, metrics, now }: LaneOptions): Lane {
  return async (accountId, endpointId, mayGoOn) => {
    for (let attempts = 0; attempts < ATTEMPTS_A_TURN && mayGoOn(); ) {
      const [endpoint, delivery] = await Promise.all([
        endpoints.find(accountId, endpointId),
        deliveries.next(accountId, endpointId),
      ]);
      if (delivery?.dueAt === undefined) return null;
      if (endpoint === null) {
        await deliveries.close(accountId, endpointId, delivery.generation);
      } else if (!endpoint.enabled || delivery.generation < endpoint.generation) {
        // Queued before a disabling. Compared by generation, so that nothing queued since it was enabled is closed.
        const last = endpoint.enabled ? endpoint.generation - 1 : endpoint.generation;
        await deliveries.close(accountId, endpointId, last);
      } else if (endpoint.consecutiveFailures >= MOST_CONSECUTIVE_FAILURES) {
        // Whoever counted the last failure died before it disabled the endpoint.
        await disabling.disable(endpoint, delivery.error);
      } else {
        const waitMs = Date.parse(delivery.dueAt) - now().getTime();
        if (waitMs > 0) return waitMs;
        await deliver(delivery, endpoint);
        attempts += 1;
      }
    }
    return 0;
  };

  async function deliver(delivery: DeliveryDocument, endpoint: EndpointDocument): Promise<void> {
    const startedAt = now();
    const result = await metrics.inFlight(() => attempt(delivery, endpoint));
    const settlement = settlementOf(delivery, result, now());
    // The endpoint goes first: a crash before the record repeats the attempt, and its failure is counted once.
    if (settlement.status === 'DELIVERED') {
      if (endpoint.consecutiveFailures > 0) await endpoints.clearFailures(endpoint.accountId, endpoint._id);
    } else if (settlement.status === 'FAILED' && delivery.isRetried) {
      await disabling.countFailure(endpoint, delivery._id, result.error);
    }
    const isRecorded = await deliveries.settle(delivery, settlement);
    if (isRecorded) metrics.attempted(delivery, settlement.status, startedAt);
  }
}

/** What an attempt that finished at `finishedAt` makes of its delivery. */
export function settlementOf(
  { isRetried, attempts, createdAt }: DeliveryDocument,
  { responseStatus, error }: AttemptResult,
  finishedAt: Date,
): Settlement {
  if (error === null) {
    return {
      status: 'DELIVERED',
      deliveredAt: finishedAt.toISOString(),
      responseStatus,
      error,
      dueAt: null,
    };
  }
  const next = isRetried ? nextAttempt(attempts + 1, finishedAt, new Date(createdAt)) : null;
  const status = next === null ? 'FAILED' : 'PENDING';
  return { status, deliveredAt: null, responseStatus, error, dueAt: next?.toISOString() ?? null };
}

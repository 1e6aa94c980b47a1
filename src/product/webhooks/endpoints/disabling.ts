import type { DeliveriesStore } from '../deliveries/store.ts';
import type { EndpointDocument } from './endpoint.ts';
import type { Notices } from './notices.ts';
import { type EndpointsStore, MOST_CONSECUTIVE_FAILURES } from './store.ts';

interface DisablingOptions {
  endpoints: EndpointsStore;
  deliveries: DeliveriesStore;
  notices: Notices;
  subscriptionsChanged: (accountId: string) => Promise<void>;
  now: () => Date;
}

export interface Disabling {
  /** Counts a delivery without retries left, once. Too many of them in a row disable the endpoint. */
  countFailure(endpoint: EndpointDocument, deliveryId: string, error: string | null): Promise<void>;
  /** Disables an endpoint that failed too often. */
  disable(endpoint: EndpointDocument, lastError: string | null): Promise<void>;
  /** Closes the queued deliveries of a disabled or deleted endpoint, and tells the other processes. */
  closeQueue(endpoint: EndpointDocument): Promise<void>;
}

/** Disables endpoints that fail repeatedly, and notifies their owners once. */
export function createDisabling(options: DisablingOptions): Disabling {
  const { endpoints, deliveries, notices, subscriptionsChanged, now } = options;

  async function closeQueue({ accountId, _id, generation }: EndpointDocument): Promise<void> {
    await subscriptionsChanged(accountId);
    await deliveries.close(accountId, _id, generation);
  }

  async function disable(
    { accountId, _id, consecutiveFailures }: EndpointDocument,
    lastError: string | null,
  ): Promise<void> {
    const reason = `${consecutiveFailures} consecutive deliveries failed; the last error: ${lastError ?? 'unknown'}`;
    const disabled = await endpoints.disable(accountId, _id, reason, now());
    if (disabled === null) return;
    await closeQueue(disabled);
    notices.wake();
  }

  return {
    async countFailure({ accountId, _id }, deliveryId, error) {
      const counted = await endpoints.countFailure(accountId, _id, deliveryId);
      const failures = counted?.consecutiveFailures ?? 0;
      if (counted !== null && failures >= MOST_CONSECUTIVE_FAILURES) await disable(counted, error);
    },
    disable,
    closeQueue,
  };
}

import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { EndpointDocument } from '../endpoints/endpoint.ts';
import { MAX_REDELIVERIES } from '../schema.ts';
import { newRedelivery } from './delivery.ts';
import { scheduleEndpointsNow } from './schedule.ts';
import type { DeliveriesStore } from './store.ts';

interface RedeliveringOptions {
  deliveries: DeliveriesStore;
  coordination: Coordination;
  now: () => Date;
}

/** The number of records that are copied at once, with their bodies. */
const BATCH = 100;

/**
 * Queues each event again whose last delivery to an endpoint failed, if it was queued since an instant, oldest first.
 * @returns how many were queued, and how many are left above the limit of one call.
 */
export async function redeliverFailedEvents(
  endpoint: EndpointDocument,
  since: Date,
  { deliveries, coordination, now }: RedeliveringOptions,
): Promise<{ queued: number; left: number }> {
  const { accountId, _id: endpointId } = endpoint;
  const failed = await deliveries.findUnreceived(accountId, endpointId, since);
  const ids = failed.slice(0, MAX_REDELIVERIES);
  for (let at = 0; at < ids.length; at += BATCH) {
    const batch = await deliveries.findMany(accountId, endpointId, ids.slice(at, at + BATCH));
    // The sequence keeps the order of events that are due at one instant.
    await deliveries.insert(
      batch.map((sent, index) => ({ ...newRedelivery(sent, endpoint, now()), sequence: at + index })),
    );
    // Stored deliveries are sent, even if the process dies before the next batch.
    await scheduleEndpointsNow(coordination, [{ accountId, endpointId }]);
  }
  return { queued: ids.length, left: failed.length - ids.length };
}

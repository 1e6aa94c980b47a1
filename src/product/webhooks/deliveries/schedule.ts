import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { DeliveriesStore, DeliveryDocument } from './store.ts';

/** The key of the sorted set of scheduled endpoints. It has one member for each endpoint with a queued delivery. */
export const ENDPOINT_SCHEDULE_KEY = 'webhooks';
/** The channel that wakes the dispatchers of all processes. */
export const DISPATCHER_WAKE_CHANNEL = 'webhooks/wake';

/**
 * A rebuild schedules the deliveries that are due within this time, in milliseconds. It is longer than the interval
 * between two rebuilds.
 */
const SCHEDULE_HORIZON_MS = 60_000;

type ScheduledEndpoint = Pick<DeliveryDocument, 'accountId' | 'endpointId'>;

function scheduleMemberOf({ accountId, endpointId }: ScheduledEndpoint): string {
  return `${accountId}/${endpointId}`;
}

export function parseScheduleMember(member: string): [accountId: string, endpointId: string] {
  const [accountId = '', endpointId = ''] = member.split('/');
  return [accountId, endpointId];
}

/** Makes endpoints due now, and wakes the dispatchers. */
export async function scheduleEndpointsNow(
  coordination: Coordination,
  endpoints: readonly ScheduledEndpoint[],
): Promise<void> {
  const members = new Set(endpoints.map(scheduleMemberOf));
  if (members.size === 0) return;
  const due = Array.from(members, (member) => ({ member, afterMs: 0 }));
  await coordination.schedule(ENDPOINT_SCHEDULE_KEY, due);
  await coordination.publish(DISPATCHER_WAKE_CHANNEL, '');
}

/** Makes the endpoints that a dead process held due now, so that other processes claim them. */
export async function releaseEndpointsByHolder(
  coordination: Coordination,
  holderPrefix: string,
): Promise<void> {
  await coordination.releaseDueByPrefix(ENDPOINT_SCHEDULE_KEY, holderPrefix);
  await coordination.publish(DISPATCHER_WAKE_CHANNEL, '');
}

/**
 * Schedules every endpoint with a delivery that is due now or soon. Endpoints that are scheduled already stay as they
 * are. One rebuild therefore restores a lost schedule. Retries that are due later are scheduled in time by a later
 * rebuild.
 */
export async function rebuildEndpointSchedule(
  coordination: Coordination,
  deliveries: DeliveriesStore,
  now: Date,
): Promise<void> {
  const until = new Date(now.getTime() + SCHEDULE_HORIZON_MS);
  const next = (afterId: string) => deliveries.findNextDueEndpoint(afterId, until);
  let isAny = false;
  for (let due = await next(''); due !== null; due = await next(due.endpointId)) {
    const afterMs = Date.parse(due.dueAt ?? '') - now.getTime();
    await coordination.schedule(ENDPOINT_SCHEDULE_KEY, [
      { member: scheduleMemberOf(due), afterMs: Math.max(afterMs, 0) },
    ]);
    isAny = true;
  }
  if (isAny) await coordination.publish(DISPATCHER_WAKE_CHANNEL, '');
}

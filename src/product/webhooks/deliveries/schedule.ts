import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { DeliveriesStore } from './store.ts';

/** The key of the sorted set of due endpoints: one member for each endpoint with a queued delivery. */
export const ENDPOINT_SCHEDULE_KEY = 'webhooks';
/** Wakes the dispatchers of every process. */
export const DISPATCHER_WAKE_CHANNEL = 'webhooks/wake';

/** Deliveries due within this time are scheduled. It is longer than the time between two rebuilds. */
const HORIZON_MS = 60_000;

export interface ScheduledEndpoint {
  accountId: string;
  endpointId: string;
}

function memberOf({ accountId, endpointId }: ScheduledEndpoint): string {
  return `${accountId}/${endpointId}`;
}

export function accountAndEndpointOf(member: string): [accountId: string, endpointId: string] {
  const [accountId = '', endpointId = ''] = member.split('/');
  return [accountId, endpointId];
}

/** Makes endpoints due at once and wakes the dispatchers. */
export async function scheduleEndpointsNow(
  coordination: Coordination,
  endpoints: readonly ScheduledEndpoint[],
): Promise<void> {
  const members = new Set(endpoints.map(memberOf));
  if (members.size === 0) return;
  const due = Array.from(members, (member) => ({ member, afterMs: 0 }));
  await coordination.schedule(ENDPOINT_SCHEDULE_KEY, due);
  await coordination.publish(DISPATCHER_WAKE_CHANNEL, '');
}

/** Makes the endpoints of a dead process due at once for other processes. */
export async function releaseEndpointsByHolder(
  coordination: Coordination,
  holderPrefix: string,
): Promise<void> {
  await coordination.releaseDueByPrefix(ENDPOINT_SCHEDULE_KEY, holderPrefix);
  await coordination.publish(DISPATCHER_WAKE_CHANNEL, '');
}

/**
 * Schedules every endpoint with a delivery that is due now or soon. Endpoints that are already scheduled do not change.
 * After a loss of the schedule, due endpoints are back within one round, and later retries before they are due.
 */
export async function rebuildEndpointSchedule(
  coordination: Coordination,
  deliveries: DeliveriesStore,
  now: Date,
): Promise<void> {
  const until = new Date(now.getTime() + HORIZON_MS);
  const next = (afterId: string) => deliveries.nextEndpointDue(afterId, until);
  let isAny = false;
  for (let due = await next(''); due !== null; due = await next(due.endpointId)) {
    const afterMs = Date.parse(due.dueAt ?? '') - now.getTime();
    await coordination.schedule(ENDPOINT_SCHEDULE_KEY, [
      { member: memberOf(due), afterMs: Math.max(afterMs, 0) },
    ]);
    isAny = true;
  }
  if (isAny) await coordination.publish(DISPATCHER_WAKE_CHANNEL, '');
}

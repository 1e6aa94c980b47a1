import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { DeliveriesStore } from './store.ts';

/** The key of the sorted set of due endpoints: one member for each endpoint with a queued delivery. */
export const ENDPOINT_SCHEDULE_KEY = 'webhooks';
/** Wakes the dispatchers of every process. */
export const DISPATCHER_WAKE_CHANNEL = 'webhooks/wake';

/**
 * A rebuild schedules the deliveries that are due within this time, which is longer than the time between two rebuilds.
 */
const SCHEDULE_HORIZON_MS = 60_000;

export interface ScheduledEndpoint {
  accountId: string;
  endpointId: string;
}

function scheduleMember({ accountId, endpointId }: ScheduledEndpoint): string {
  return `${accountId}/${endpointId}`;
}

export function parseScheduleMember(member: string): [accountId: string, endpointId: string] {
  const [accountId = '', endpointId = ''] = member.split('/');
  return [accountId, endpointId];
}

/** Makes endpoints due at once and wakes the dispatchers. */
export async function scheduleEndpointsNow(
  coordination: Coordination,
  endpoints: readonly ScheduledEndpoint[],
): Promise<void> {
  const members = new Set(endpoints.map(scheduleMember));
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
 * After a loss of the schedule, one rebuild schedules all due endpoints again, and later retries are scheduled before
 * they are due.
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
      { member: scheduleMember(due), afterMs: Math.max(afterMs, 0) },
    ]);
    isAny = true;
  }
  if (isAny) await coordination.publish(DISPATCHER_WAKE_CHANNEL, '');
}

import { withoutAbsentFields } from '../../platform/values/present.ts';
import type { RequestErrorGroup, RequestRecord } from './schema.ts';

/** Groups the refused requests of a list by their cause: code, reason and parameter at one operation. */
export function groupRequestErrors(requests: readonly RequestRecord[]): RequestErrorGroup[] {
  return mergeErrorGroups(requests.flatMap((request) => groupOf(request) ?? []));
}

/** Merges groups with the same cause, with the facts of the latest request. The most frequent group comes first. */
export function mergeErrorGroups(groups: readonly RequestErrorGroup[]): RequestErrorGroup[] {
  return [...Map.groupBy(groups, keyOf).values()]
    .map((same) => same.reduce(merged))
    .sort((one, other) => other.count - one.count || (one.lastAt < other.lastAt ? 1 : -1));
}

function groupOf({ id, at, method, operation, route, error }: RequestRecord): RequestErrorGroup | null {
  if (error === undefined) return null;
  const { code, message, param, reason, fix } = error;
  const place = { method, operation, route };
  const times = { count: 1, firstAt: at, lastAt: at, lastRequestId: id };
  return { ...place, code, message, ...withoutAbsentFields({ param, reason, fix }), ...times };
}

function keyOf({ operation, code, param, reason }: RequestErrorGroup): string {
  return JSON.stringify([operation, code, param, reason]);
}

function merged(one: RequestErrorGroup, other: RequestErrorGroup): RequestErrorGroup {
  const [earlier, later] = one.lastAt < other.lastAt ? [one, other] : [other, one];
  const firstAt = one.firstAt < other.firstAt ? one.firstAt : other.firstAt;
  return { ...later, count: earlier.count + later.count, firstAt };
}

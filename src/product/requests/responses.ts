import { operationIdOf } from '../../platform/http/openapi/names.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import type { KeptRefusal, KeptRequest } from './kept-request.ts';
import type { RequestErrorGroup, RequestRecord } from './schema.ts';

const TIMING_PATTERN = /([\w-]+);dur=([\d.]+)/g;

/** The path pattern of a request, with its parameters in braces. */
export function pathTemplateOf({ route }: KeptRequest): string {
  return route.replaceAll(/:(\w+)/g, '{$1}');
}

export function operationNameOf(request: KeptRequest): string {
  return operationIdOf(request.method, pathTemplateOf(request));
}

export function requestRecordOf(request: KeptRequest): RequestRecord {
  const { id, atMs, method, path, status, durationMs, bytesIn, bytesOut, apiKeyId } = request;
  const { serverTiming, warnings, refusal } = request;
  return {
    ...{
      id,
      at: new Date(atMs).toISOString(),
      method,
      operation: operationNameOf(request),
      route: pathTemplateOf(request),
    },
    ...{ path, status, durationMs },
    ...withoutAbsentFields({
      error: refusal === null ? null : requestErrorOf(refusal),
      timing: serverTiming === null ? null : timingByPart(serverTiming),
      warnings: warnings?.split(','),
      ...{ bytesIn, bytesOut, apiKeyId },
    }),
  };
}

function requestErrorOf(refusal: KeptRefusal): RequestRecord['error'] {
  const { code, message, retryable, param, reason, fix } = refusal;
  return {
    code,
    message,
    retryable,
    ...withoutAbsentFields({ param, reason, fix: fix === null ? null : JSON.parse(fix) }),
  };
}

function timingByPart(serverTiming: string): Record<string, number> {
  const parts = [...serverTiming.matchAll(TIMING_PATTERN)];
  return Object.fromEntries(parts.map(([, name, ms]) => [name, Number(ms)]));
}

/** Groups the refused requests of a list by their cause: the operation, the code, the reason and the parameter. */
export function groupRequestErrors(requests: readonly RequestRecord[]): RequestErrorGroup[] {
  return mergeErrorGroups(requests.flatMap((request) => errorGroupOf(request) ?? []));
}

/**
 * Merges groups of the same cause, and sorts them by frequency. The facts of a merged group are those of its latest
 * request.
 */
export function mergeErrorGroups(groups: readonly RequestErrorGroup[]): RequestErrorGroup[] {
  return [...Map.groupBy(groups, groupKeyOf).values()]
    .map((same) => same.reduce(mergeGroupPair))
    .sort((one, other) => other.count - one.count || (one.lastAt < other.lastAt ? 1 : -1));
}

function errorGroupOf({ id, at, method, operation, route, error }: RequestRecord): RequestErrorGroup | null {
  if (error === undefined) return null;
  const { code, message, param, reason, fix } = error;
  const place = { method, operation, route };
  const times = { count: 1, firstAt: at, lastAt: at, lastRequestId: id };
  return { ...place, code, message, ...withoutAbsentFields({ param, reason, fix }), ...times };
}

function groupKeyOf({ operation, code, param, reason }: RequestErrorGroup): string {
  return JSON.stringify([operation, code, param, reason]);
}

function mergeGroupPair(one: RequestErrorGroup, other: RequestErrorGroup): RequestErrorGroup {
  const [earlier, later] = one.lastAt < other.lastAt ? [one, other] : [other, one];
  const firstAt = one.firstAt < other.firstAt ? one.firstAt : other.firstAt;
  return { ...later, count: earlier.count + later.count, firstAt };
}

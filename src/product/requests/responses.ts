import { operationIdOf } from '../../platform/http/openapi/names.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import type { KeptRefusal, KeptRequest } from './kept-request.ts';
import type { RequestRecord } from './schema.ts';

const TIMED_PART = /([\w-]+);dur=([\d.]+)/g;

/** The path pattern of a request, with its parameters in braces. */
export function routePatternOf({ route }: KeptRequest): string {
  return route.replaceAll(/:(\w+)/g, '{$1}');
}

/** The name of its call. */
export function operationNameOf(request: KeptRequest): string {
  return operationIdOf(request.method, routePatternOf(request));
}

/** A request as the API shows it. */
export function requestRecordOf(request: KeptRequest): RequestRecord {
  const { id, atMs, method, path, status, durationMs, bytesIn, bytesOut, apiKeyId } = request;
  const { serverTiming, warnings, refusal } = request;
  return {
    ...{
      id,
      at: new Date(atMs).toISOString(),
      method,
      operation: operationNameOf(request),
      route: routePatternOf(request),
    },
    ...{ path, status, durationMs },
    ...withoutAbsentFields({
      error: refusal === null ? null : errorOf(refusal),
      timing: serverTiming === null ? null : timingOf(serverTiming),
      warnings: warnings?.split(','),
      ...{ bytesIn, bytesOut, apiKeyId },
    }),
  };
}

function errorOf({ code, message, retryable, param, reason, fix }: KeptRefusal): RequestRecord['error'] {
  return {
    code,
    message,
    retryable,
    ...withoutAbsentFields({ param, reason, fix: fix === null ? null : JSON.parse(fix) }),
  };
}

function timingOf(serverTiming: string): Record<string, number> {
  const parts = [...serverTiming.matchAll(TIMED_PART)];
  return Object.fromEntries(parts.map(([, name, ms]) => [name, Number(ms)]));
}

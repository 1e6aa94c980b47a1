import type { FastifyReply, FastifyRequest } from 'fastify';
import { announcedBytes } from '../../platform/http/bodies/streamed-body.ts';
import type { ApiError } from '../../platform/http/errors/errors.ts';
import { recordedErrorOf } from '../../platform/http/errors/failures.ts';
import type { KeptRefusal, KeptRequest } from './kept-request.ts';
import { pathWithoutSecrets, textWithoutSecrets } from './secrets.ts';

/** The facts of an answered call that are kept, without its body and its headers. */
export function keptRequestOf(
  request: FastifyRequest,
  reply: FastifyReply,
  { route, apiKeyId, atMs }: Pick<KeptRequest, 'route' | 'apiKeyId' | 'atMs'>,
): KeptRequest {
  const refusal = recordedErrorOf(request);
  return {
    id: request.id,
    atMs,
    method: request.method,
    path: pathWithoutSecrets(request.url),
    route,
    status: reply.statusCode,
    durationMs: Math.round(reply.elapsedTime * 10) / 10,
    bytesIn: announcedBytes(request),
    bytesOut: sentBytes(reply),
    apiKeyId,
    serverTiming: textOf(reply.getHeader('server-timing')),
    warnings: textOf(reply.getHeader('x-service-warnings')),
    refusal: refusal === undefined ? null : keptRefusalOf(refusal),
  };
}

function keptRefusalOf({ code, message, retryable, param, details = {} }: ApiError): KeptRefusal {
  return {
    code,
    message: textWithoutSecrets(message),
    retryable,
    param: param ?? null,
    reason: typeof details.reason === 'string' ? details.reason : null,
    fix: details.fix === undefined ? null : textWithoutSecrets(JSON.stringify(details.fix)),
  };
}

/** No answer of these statuses has a body. */
function sentBytes(reply: FastifyReply): number | null {
  if (reply.statusCode === 204 || reply.statusCode === 304) return 0;
  const length = reply.getHeader('content-length');
  return length === undefined ? null : Number(length);
}

function textOf(header: unknown): string | null {
  return header === undefined ? null : String(header);
}

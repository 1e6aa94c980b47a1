import type { FastifyReply, FastifyRequest } from 'fastify';
import { announcedBytes } from '../../platform/http/bodies/streamed-body.ts';
import type { ApiError } from '../../platform/http/errors/errors.ts';
import { recordedErrorOf } from '../../platform/http/errors/failures.ts';
import { pathWithoutSecrets, textWithoutSecrets } from '../../platform/http/redaction.ts';

/** What a process remembers of a call that it answered. Texts that are costly to parse are stored as they were sent. */
export interface KeptRequest {
  /** The X-Request-Id. It may not be unique, because callers may choose it. */
  id: string;
  /** When the response was sent, in epoch milliseconds. */
  atMs: number;
  method: string;
  /** The path and the query, without secrets. */
  path: string;
  /** The pattern of the route, such as `/api/v1/jobs/:jobId`. */
  route: string;
  status: number;
  durationMs: number;
  /** The size of the request body, as the client announced it; null if it did not. */
  bytesIn: number | null;
  /** The size of the response in bytes; null for a stream of unknown length. */
  bytesOut: number | null;
  /** The API key of the caller; null for a console session. */
  apiKeyId: string | null;
  /** The header Server-Timing of the response; null if there is none. */
  serverTiming: string | null;
  /** The header X-Service-Warnings of the response; null if there is none. */
  warnings: string | null;
  refusal: KeptRefusal | null;
}

export interface KeptRefusal {
  code: string;
  message: string;
  retryable: boolean;
  param: string | null;
  reason: string | null;
  /** `details.fix` of the error as JSON; null if there is none. */
  fix: string | null;
}

/** The estimated memory of a kept request without its texts. */
const KEPT_REQUEST_OVERHEAD_BYTES = 300;

/** The estimated memory of a kept request. A character takes one byte, or two if the text is not Latin-1. */
export function memoryBytesOfRequest({ id, path, serverTiming, warnings, refusal }: KeptRequest): number {
  const texts = [id, path, serverTiming, warnings, refusal?.message, refusal?.param, refusal?.fix];
  let characters = 0;
  for (const text of texts) characters += text?.length ?? 0;
  return KEPT_REQUEST_OVERHEAD_BYTES + 2 * characters;
}

/** The facts of an answered call that are remembered. Bodies and most headers are not remembered. */
export function keptRequestOf(
  request: FastifyRequest,
  reply: FastifyReply,
  { route, apiKeyId, atMs }: Pick<KeptRequest, 'route' | 'apiKeyId' | 'atMs'>,
): KeptRequest {
  const refusal = recordedErrorOf(request);
  const warnings = textOrNull(reply.getHeader('x-service-warnings'));
  return {
    id: request.id,
    atMs,
    method: request.method,
    path: pathWithoutSecrets(request.url),
    route,
    status: reply.statusCode,
    durationMs: Math.round(reply.elapsedTime * 10) / 10,
    bytesIn: announcedBytes(request),
    bytesOut: responseSizeBytes(reply),
    apiKeyId,
    serverTiming: textOrNull(reply.getHeader('server-timing')),
    warnings: warnings && textWithoutSecrets(warnings),
    refusal: refusal === undefined ? null : keptRefusalOf(refusal),
  };
}

function keptRefusalOf({ code, message, retryable, param, details = {} }: ApiError): KeptRefusal {
  return {
    code,
    message: textWithoutSecrets(message),
    retryable,
    param: param === undefined ? null : textWithoutSecrets(param),
    reason: typeof details.reason === 'string' ? details.reason : null,
    fix: details.fix === undefined ? null : textWithoutSecrets(JSON.stringify(details.fix)),
  };
}

/**
 * The size of a response body in bytes; null for a stream of unknown length. A response with status 204 or 304 has no
 * body.
 */
function responseSizeBytes(reply: FastifyReply): number | null {
  if (reply.statusCode === 204 || reply.statusCode === 304) return 0;
  const length = reply.getHeader('content-length');
  return length === undefined ? null : Number(length);
}

function textOrNull(header: unknown): string | null {
  return header === undefined ? null : String(header);
}

import type { FastifyReply, FastifyRequest } from 'fastify';
import { announcedBytes } from '../../platform/http/bodies/streamed-body.ts';
import type { ApiError } from '../../platform/http/errors/errors.ts';
import { recordedErrorOf } from '../../platform/http/errors/failures.ts';
import { decodePercentEncoding } from '../../platform/values/percent-encoding.ts';

/** What a process remembers of a call that it answered. Texts that are costly to parse are kept as they were sent. */
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
    warnings: textOrNull(reply.getHeader('x-service-warnings')),
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

const REDACTED_TEXT = '[redacted]';
/**
 * Matches the names of query fields whose values are secrets: those of signed links, and those that callers send by
 * mistake.
 */
const SECRET_FIELD_PATTERN =
  /signature|token|secret|passw|passphrase|pwd|credential|authorization|bearer|cookie|jwt|(?:api|access|private|signing|subscription)[-_]?key$|^(?:key|auth|sig|pass)$/i;
/** Matches the secrets that this service issues. Its ids are too short to match. */
const OWN_SECRET_PATTERN = /(?:drk|ses|lnk|ops|opl)_[0-9A-Za-z]{32,}|whsec_[0-9A-Za-z+/=%_-]{32,}/g;
/**
 * Matches a URL in a text, in four parts: the scheme, the user and password, the host with the path, and the query. The
 * length of the scheme is limited, because matching a long word would otherwise take quadratic time.
 */
const URL_PATTERN = /([a-z][a-z0-9+.-]{0,30}:\/\/)([^\s"'<>\\/?#@]*@)?([^\s"'<>\\?#]*)(\?[^\s"'<>\\#]*)?/gi;
const MAX_PATH_CHARACTERS = 2_000;

/** A path with its query. The values of secret fields are removed, and so are secrets in other values. */
export function pathWithoutSecrets(path: string): string {
  const start = path.indexOf('?');
  if (start === -1) return truncatedCopy(path.replaceAll(OWN_SECRET_PATTERN, REDACTED_TEXT), path.length);
  const fields = path.slice(start + 1).split('&');
  const shown = `${path.slice(0, start)}?${fields.map(fieldWithoutSecret).join('&')}`;
  return truncatedCopy(shown.replaceAll(OWN_SECRET_PATTERN, REDACTED_TEXT), path.length);
}

/**
 * A text without secrets of this service. In URLs, users, passwords and queries are removed, because a query may
 * contain a signature.
 */
export function textWithoutSecrets(text: string): string {
  return withoutUrlSecrets(text.replaceAll(OWN_SECRET_PATTERN, REDACTED_TEXT));
}

function withoutUrlSecrets(text: string): string {
  if (!text.includes('://')) return text;
  return text.replaceAll(
    URL_PATTERN,
    (_, scheme: string, user: string | undefined, place: string, query: string | undefined) =>
      `${scheme}${user === undefined ? '' : `${REDACTED_TEXT}@`}${place}${query === undefined ? '' : `?${REDACTED_TEXT}`}`,
  );
}

function fieldWithoutSecret(field: string): string {
  const [name = '', ...rest] = field.split('=');
  if (SECRET_FIELD_PATTERN.test(decodePercentEncoding(name) ?? name)) return `${name}=${REDACTED_TEXT}`;
  const value = rest.join('=');
  if (!/:\/\/|%3a/i.test(value)) return field;
  const spaced = value.replaceAll('+', ' ');
  const text = decodePercentEncoding(spaced) ?? spaced;
  const shown = withoutUrlSecrets(text);
  return shown === text ? field : `${name}=${encodeURIComponent(shown)}`;
}

/**
 * A text, shortened to MAX_PATH_CHARACTERS. If the sent text was longer, the result is a copy, because a slice would
 * keep the whole sent text in memory.
 * @param sentCharacters the length of the text as it was sent.
 */
function truncatedCopy(text: string, sentCharacters: number): string {
  if (sentCharacters <= MAX_PATH_CHARACTERS) return text;
  const kept = text.length > MAX_PATH_CHARACTERS ? `${text.slice(0, MAX_PATH_CHARACTERS)}…` : text;
  return Buffer.from(kept).toString();
}

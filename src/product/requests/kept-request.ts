import type { FastifyReply, FastifyRequest } from 'fastify';
import { announcedBytes } from '../../platform/http/bodies/streamed-body.ts';
import type { ApiError } from '../../platform/http/errors/errors.ts';
import { recordedErrorOf } from '../../platform/http/errors/failures.ts';

/** The facts of an answered call that a process keeps. Texts that are costly to parse are kept as they were sent. */
export interface KeptRequest {
  /** The X-Request-Id. A caller may choose it, so it need not be unique. */
  id: string;
  /** When the response was sent, in epoch milliseconds. */
  atMs: number;
  method: string;
  /** The path and the query without secrets. */
  path: string;
  /** The pattern of the route, such as `/api/v1/jobs/:jobId`. */
  route: string;
  status: number;
  durationMs: number;
  /** The size of the body as the client announced it; null if it did not. */
  bytesIn: number | null;
  /** The size of the response; null for a stream of unknown length. */
  bytesOut: number | null;
  /** The API key of the caller; null for a console session. */
  apiKeyId: string | null;
  /** The header Server-Timing; null without one. */
  serverTiming: string | null;
  /** The header X-Service-Warnings; null without one. */
  warnings: string | null;
  refusal: KeptRefusal | null;
}

export interface KeptRefusal {
  code: string;
  message: string;
  retryable: boolean;
  param: string | null;
  reason: string | null;
  /** `details.fix` as JSON; null without one. */
  fix: string | null;
}

/** An estimate of the memory of a kept request besides its texts. */
const KEPT_OBJECT_BYTES = 300;

/** An estimate of the memory of a kept request. Text takes one byte per character, or two if it is not Latin. */
export function memoryBytesOfRequest({ id, path, serverTiming, warnings, refusal }: KeptRequest): number {
  const texts = [id, path, serverTiming, warnings, refusal?.message, refusal?.param, refusal?.fix];
  let characters = 0;
  for (const text of texts) characters += text?.length ?? 0;
  return KEPT_OBJECT_BYTES + 2 * characters;
}

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
    bytesOut: responseBytes(reply),
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

/** The bytes of a response's body; null for a stream of unknown length. Responses with status 204 or 304 have none. */
function responseBytes(reply: FastifyReply): number | null {
  if (reply.statusCode === 204 || reply.statusCode === 304) return 0;
  const length = reply.getHeader('content-length');
  return length === undefined ? null : Number(length);
}

function textOrNull(header: unknown): string | null {
  return header === undefined ? null : String(header);
}

const REDACTED_TEXT = '[redacted]';
/** Names of query fields whose values are secrets: those of signed links, and what callers send by mistake. */
const SECRET_FIELD_PATTERN =
  /signature|token|secret|passw|passphrase|pwd|credential|authorization|bearer|cookie|jwt|(?:api|access|private|signing|subscription)[-_]?key$|^(?:key|auth|sig|pass)$/i;
/** Matches the secrets that this service issues. Its ids are shorter. */
const OWN_SECRET_PATTERN = /(?:drk|ses|lnk|ops|opl)_[0-9A-Za-z]{32,}|whsec_[0-9A-Za-z+/=%_-]{32,}/g;
/**
 * Matches an address within text: its scheme, the user and password before the host, its host and path, its query. The
 * length of the scheme is limited, because a long word would otherwise be searched from each of its characters.
 */
const ADDRESS_PATTERN =
  /([a-z][a-z0-9+.-]{0,30}:\/\/)([^\s"'<>\\/?#@]*@)?([^\s"'<>\\?#]*)(\?[^\s"'<>\\#]*)?/gi;
const MAX_PATH_CHARACTERS = 2_000;

/** A path with its query, without the values of secret fields and without secrets in other values. */
export function pathWithoutSecrets(path: string): string {
  const start = path.indexOf('?');
  if (start === -1) return truncatedCopy(path.replaceAll(OWN_SECRET_PATTERN, REDACTED_TEXT), path.length);
  const fields = path.slice(start + 1).split('&');
  const shown = `${path.slice(0, start)}?${fields.map(fieldWithoutSecret).join('&')}`;
  return truncatedCopy(shown.replaceAll(OWN_SECRET_PATTERN, REDACTED_TEXT), path.length);
}

/**
 * Text without secrets of this service, and without the users, passwords and queries of addresses in it, because a
 * query may contain a signature.
 */
export function textWithoutSecrets(text: string): string {
  return withoutSecretsOfAddresses(text.replaceAll(OWN_SECRET_PATTERN, REDACTED_TEXT));
}

function withoutSecretsOfAddresses(text: string): string {
  if (!text.includes('://')) return text;
  return text.replaceAll(
    ADDRESS_PATTERN,
    (_, scheme: string, user: string | undefined, place: string, query: string | undefined) =>
      `${scheme}${user === undefined ? '' : `${REDACTED_TEXT}@`}${place}${query === undefined ? '' : `?${REDACTED_TEXT}`}`,
  );
}

function fieldWithoutSecret(field: string): string {
  const [name = '', ...rest] = field.split('=');
  if (SECRET_FIELD_PATTERN.test(percentDecoded(name))) return `${name}=${REDACTED_TEXT}`;
  const value = rest.join('=');
  if (!/:\/\/|%3a/i.test(value)) return field;
  const text = percentDecoded(value.replaceAll('+', ' '));
  const shown = withoutSecretsOfAddresses(text);
  return shown === text ? field : `${name}=${encodeURIComponent(shown)}`;
}

/** Text with its percent-encoding decoded; unchanged if the encoding is malformed. */
function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * The beginning of a text. It is copied, because a part of a text would otherwise keep the whole text in memory.
 * @param sentCharacters the length of the text from which it was made.
 */
function truncatedCopy(text: string, sentCharacters: number): string {
  if (sentCharacters <= MAX_PATH_CHARACTERS) return text;
  const kept = text.length > MAX_PATH_CHARACTERS ? `${text.slice(0, MAX_PATH_CHARACTERS)}…` : text;
  return Buffer.from(kept).toString();
}

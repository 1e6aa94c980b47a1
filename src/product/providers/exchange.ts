import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { ContentCodingError, readDecodedBody } from '../../platform/outbound/codings.ts';
import { OutboundError } from '../../platform/outbound/errors.ts';
import { refuseUnexpectedResponses } from '../../platform/outbound/exchange.ts';
import { parseJsonOrUndefined } from '../../platform/values/json.ts';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';
import { parseBoundedJson } from './answers.ts';
import {
  misconfiguredFault,
  ProviderError,
  providerErrorFromRefusal,
  redactSecrets,
  unavailableFault,
} from './provider.ts';

/** The address of a provider. The operator chooses it, so http and private addresses are allowed. */
export interface ProviderEndpoint {
  /** The base URL, without a slash at its end. */
  baseUrl: string;
  /** The headers of every call. Redirects are not followed, so that no other host receives these headers. */
  headers: Readonly<Record<string, string>>;
  /** Secrets that must not appear in any message. */
  secrets: readonly string[];
}

/** The maximum size of an answer that may contain a picture in base64. It is far more than real answers have. */
const MAX_PICTURE_RESPONSE_BYTES = 64 * MEGABYTE_BYTES;
/** The maximum size of any other answer. It is four times the size of the largest JSON answer that is stored. */
const MAX_RESPONSE_BYTES = MEGABYTE_BYTES;
const MAX_REFUSAL_BYTES = 64 * 1024;

/**
 * Completes the base URL that the operator has set. A URL without a path gets the path that the provider's own clients
 * use.
 * @param fallback the provider's own URL, for an operator who has set none.
 */
export function completeBaseUrl(set: string, fallback: string): string {
  if (set === '') return fallback;
  const url = new URL(set);
  if (url.pathname === '/') url.pathname = new URL(fallback).pathname;
  return url.href.replace(/\/+$/, '');
}

export interface EndpointRequest {
  path: string;
  method?: 'GET' | 'POST';
  json?: unknown;
  form?: FormData;
  /** Whether the answer may contain a picture. If so, a larger answer is allowed. */
  answersPicture?: boolean;
}

/**
 * Makes one call whose answer is JSON.
 * @throws ProviderError when there is no answer, or an answer other than 2xx with JSON; the signal's reason when it
 * aborted.
 */
export async function requestProviderJson(
  { baseUrl, headers, secrets }: ProviderEndpoint,
  call: EndpointRequest,
  signal: AbortSignal,
): Promise<unknown> {
  const request = await writeHttpRequest(call, headers);
  const body = await requestProviderBytes(new URL(`${baseUrl}${call.path}`), request, {
    limitBytes: call.answersPicture ? MAX_PICTURE_RESPONSE_BYTES : MAX_RESPONSE_BYTES,
    readRefusal: (response) => readRefusal(response, secrets, signal),
    signal,
  });
  return parseBoundedJson(body, 'The answer of the provider');
}

interface HttpRequest {
  method: 'GET' | 'POST';
  headers: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
}

/**
 * How long an idle connection is kept, in milliseconds. Providers keep connections for longer. This way, the provider
 * does not close a connection just when a call is sent, which would fail.
 */
const MAX_IDLE_CONNECTION_MS = 4_000;
const KEEP_ALIVE_AGENTS = {
  'http:': new http.Agent({ keepAlive: true, timeout: MAX_IDLE_CONNECTION_MS }),
  'https:': new https.Agent({ keepAlive: true, timeout: MAX_IDLE_CONNECTION_MS }),
};

interface BytesTerms {
  limitBytes: number;
  /** Makes the error of a response that is not 2xx. It must read the body or destroy it. */
  readRefusal: (response: IncomingMessage) => ProviderError | Promise<ProviderError>;
  signal: AbortSignal;
}

/**
 * Makes one call, and returns the body of its answer.
 * @throws ProviderError when there is no answer, which is a temporary fault, or an answer other than 2xx; the signal's
 * reason when it aborted.
 */
export async function requestProviderBytes(
  url: URL,
  request: HttpRequest,
  { limitBytes, readRefusal, signal }: BytesTerms,
): Promise<Buffer<ArrayBuffer>> {
  try {
    const response = await requestTrustedHost(url, request, signal);
    const { statusCode = 0 } = response;
    if (statusCode < 200 || statusCode >= 300) throw await readRefusal(response);
    return await readResponseBytes(response, limitBytes);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof ProviderError) throw error;
    if (error instanceof OutboundError) throw unavailableFault(`The provider's ${error.message}.`);
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (typeof code !== 'string') throw error;
    throw unavailableFault(`The provider could not be reached, or cut the connection (${code}).`);
  }
}

/**
 * Makes one HTTP/1.1 request to a host that the operator trusts. Returns the response as soon as its headers have
 * arrived; the caller must read the body or destroy it. `fetch` is not used, because it cannot limit interim (1xx)
 * responses. Redirects are not followed.
 * @throws the error of the socket or the parser, with its code; OutboundError for too many interim responses.
 */
async function requestTrustedHost(
  url: URL,
  call: HttpRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { method, body } = call;
  const headers = { 'user-agent': 'Darkroom', 'accept-encoding': 'identity', ...call.headers };
  const client =
    url.protocol === 'https:'
      ? https.request(url, { method, headers, signal, agent: KEEP_ALIVE_AGENTS['https:'] })
      : http.request(url, { method, headers, signal, agent: KEEP_ALIVE_AGENTS['http:'] });
  refuseUnexpectedResponses(client);
  client.once('response', resolve);
  client.on('error', reject);
  client.end(body);
  return promise;
}

async function writeHttpRequest(
  { method = 'POST', json, form }: EndpointRequest,
  own: ProviderEndpoint['headers'],
): Promise<HttpRequest> {
  const headers = { accept: 'application/json', ...own };
  const headersWithType = (type: string) => ({ ...headers, 'content-type': type });
  if (json !== undefined)
    return { method, headers: headersWithType('application/json'), body: JSON.stringify(json) };
  if (form === undefined) return { method, headers };
  // A Response is used only to serialize the form, for which it chooses the boundary.
  const written = new Response(form);
  const type = written.headers.get('content-type') ?? '';
  return { method, headers: headersWithType(type), body: await written.bytes() };
}

/**
 * Reads the body of a response and decodes its content encoding.
 * @throws ProviderError when the body is larger than the limit, or cannot be decoded.
 */
async function readResponseBytes(
  response: IncomingMessage,
  limitBytes: number,
): Promise<Buffer<ArrayBuffer>> {
  try {
    return Buffer.from((await readDecodedBody(response, limitBytes)).buffer);
  } catch (error) {
    if (!(error instanceof ContentCodingError)) throw error;
    if (error.fault === 'large')
      throw unavailableFault(`The provider answered more than ${limitBytes} bytes.`);
    throw unavailableFault(`The provider answered a body that cannot be decoded (${error.coding}).`);
  }
}

async function readRefusal(
  response: IncomingMessage,
  secrets: readonly string[],
  signal: AbortSignal,
): Promise<ProviderError> {
  const { statusCode: status = 0, headers } = response;
  if (status >= 300 && status < 400) {
    response.destroy();
    return misconfiguredFault(`The provider answers HTTP ${status}: its base URL leads elsewhere.`);
  }
  const text = await readResponseBytes(response, MAX_REFUSAL_BYTES).then(String, () => '');
  signal.throwIfAborted();
  const { message, kind } = parseRefusal(text);
  const retryAfterMs = parseRetryAfterMs(headers['retry-after'] ?? null, Date.now());
  return providerErrorFromRefusal({ status, kind, message: redactSecrets(message, secrets), retryAfterMs });
}

/**
 * The fields that the error objects of OpenAI, Gemini and Replicate have in common: a message, and texts that describe
 * the kind of error.
 */
function parseRefusal(text: string): { message: string; kind: string } {
  const body = objectOrEmpty(parseJsonOrUndefined(text));
  const error = objectOrEmpty(body.error);
  const message = [error.message, body.error, body.detail, body.message].find(
    (one) => typeof one === 'string',
  );
  const details = Array.isArray(error.details) ? error.details : [];
  const reasons = details.map((detail) => objectOrEmpty(detail).reason);
  const kinds = [error.code, error.type, error.status, body.code, body.type, body.title, ...reasons];
  return { message: String(message ?? ''), kind: kinds.filter((kind) => typeof kind === 'string').join(' ') };
}

/** The value if it is an object; else an empty object. */
export function objectOrEmpty(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** Parses a Retry-After header (seconds or a date) to milliseconds after `nowMs`. */
export function parseRetryAfterMs(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  const ms = /^\s*\d+(\.\d+)?\s*$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.max(0, Math.ceil(ms));
}

import { promises as dns } from 'node:dns';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { ApiError, invalidParamError } from '../http/errors/errors.ts';
import { disabledTracing, type Tracing } from '../tracing/tracing.ts';
import {
  ContentCodingError,
  MAX_CODINGS,
  MAX_ZSTD_FRAMES,
  readDecodedBody,
  SUPPORTED_CODINGS_TEXT,
} from './codings.ts';
import { apiErrorOfOutbound, hostUnavailableError } from './errors.ts';
import { exchangeHttp, outboundErrorOf } from './exchange.ts';
import {
  blockListOf,
  type NetworkRules,
  type ResolvedAddress,
  type ResolveHostName,
  resolveTarget,
  type TargetRules,
} from './target.ts';

export interface OutboundOptions {
  /** CIDRs that may be reached although they are not public. */
  allowedSubnets: readonly string[];
  /** Whether webhooks may go to plain http and to any port. */
  allowsHttp: boolean;
  resolve?: ResolveHostName;
  connectTimeoutMs?: number;
  /**
   * Traces each exchange in a span, and sends the trace to receivers of webhooks. Spans contain no addresses, because
   * addresses are private to callers.
   */
  tracing?: Tracing;
}

interface PostOptions {
  headers: Record<string, string>;
  body: Uint8Array;
  /** The timeout from the connection to the end of the headers of the response. */
  answerTimeoutMs: number;
}

const CONNECT_TIMEOUT_MS = 5_000;

/** The requests that the service makes to addresses from users. Nothing else may call such an address. */
export class OutboundRequests {
  readonly #network: NetworkRules;
  readonly #webhookRules: TargetRules;
  readonly #tracing: Tracing;

  constructor({
    allowedSubnets,
    allowsHttp,
    resolve = resolveHostName,
    connectTimeoutMs = CONNECT_TIMEOUT_MS,
    tracing = disabledTracing,
  }: OutboundOptions) {
    this.#network = { allowed: blockListOf(allowedSubnets), resolve, connectTimeoutMs };
    this.#webhookRules = { allowsHttp, allowsAnyPort: allowsHttp };
    this.#tracing = tracing;
  }

  /** Fetches the image at a URL. Every failure is an ApiError. */
  fetchImage(url: string, options: ImageFetchOptions): Promise<FetchedImage> {
    return this.#tracing.span('fetch url', {}, () => fetchImage(url, options, this.#network));
  }

  /**
   * Checks whether a webhook may be sent to a URL now.
   * @throws ApiError 400 invalid_param on url.
   */
  async checkWebhook(url: string): Promise<void> {
    await resolveTarget(url, this.#webhookRules, this.#network).catch((error: unknown) => {
      throw apiErrorOfOutbound(error);
    });
  }

  /**
   * Posts to a URL of a user after checking it again, and returns the status. The body of the response is not read. The
   * timeouts for the connection and for the response apply in sequence.
   * @throws OutboundError, with the status of a response whose headers did not end.
   */
  postWebhook(url: string, options: PostOptions): Promise<number> {
    return this.#tracing.trace('delivery', {}, async () => {
      const target = await resolveTarget(url, this.#webhookRules, this.#network);
      const headers = { ...options.headers, ...this.#tracing.headers() };
      const call = { method: 'POST', ...options, headers } as const;
      const response = await exchangeHttp(target, call, this.#network.allowed);
      response.destroy();
      return response.statusCode ?? 0;
    });
  }
}

/** The timeout of one query to a name server. */
const DNS_TIMEOUT_MS = 1_500;
const MAX_DNS_TRIES = 2;
const HOSTS_FILE = '/etc/hosts';
/** DNS error codes for a missing name, or missing addresses of a family. */
const DNS_NOT_FOUND_CODES = ['ENODATA', 'ENOTFOUND'];

/**
 * Resolves names by the hosts file, and by DNS over separate sockets with timeouts. The system's resolver would occupy
 * one of libuv's few threads while a name server does not respond, and files and pictures need the same threads. Search
 * domains are not appended, because URLs contain full host names.
 */
export const resolveHostName: ResolveHostName = async (hostname) => {
  const listed = addressesInHostsFile(await readFile(HOSTS_FILE, 'utf8').catch(() => ''), hostname);
  return listed.length > 0 ? listed : queryDns(hostname);
};

/** The addresses that a hosts file gives a name: `address name alias … # comment`, one per line. */
export function addressesInHostsFile(hosts: string, hostname: string): ResolvedAddress[] {
  const name = withoutFinalDot(hostname);
  return hosts.split('\n').flatMap((line) => {
    const [address = '', ...names] = (line.split('#')[0] ?? '').trim().split(/\s+/);
    if (!names.some((other) => withoutFinalDot(other) === name)) return [];
    return [{ address, family: address.includes(':') ? 6 : 4 } as const];
  });
}

function withoutFinalDot(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

/** Queries IPv4 and IPv6 addresses at once. If one query fails, the addresses of the other are used. */
async function queryDns(hostname: string): Promise<ResolvedAddress[]> {
  const resolver = new dns.Resolver({ timeout: DNS_TIMEOUT_MS, tries: MAX_DNS_TRIES });
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const addresses = [...addressesOf(v4, 4), ...addressesOf(v6, 6)];
  if (addresses.length > 0) return addresses;
  const failure = [v4, v6].find(
    (answer) => answer.status === 'rejected' && !DNS_NOT_FOUND_CODES.includes(answer.reason?.code),
  );
  if (failure?.status === 'rejected') throw failure.reason;
  return [];
}

function addressesOf(answer: PromiseSettledResult<string[]>, family: 4 | 6): ResolvedAddress[] {
  return answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : [];
}

interface ImageFetchOptions {
  limitBytes: number;
  /** The timeout of the whole fetch: name, connection, response and body. */
  timeoutMs: number;
  signal?: AbortSignal;
  /**
   * The field of the call that contains the URL. If absent, errors name `url`, or `file` for an image that is too
   * large.
   */
  param?: string | undefined;
}

interface FetchedImage {
  /** The bytes, in their own ArrayBuffer, so that they can be transferred. */
  bytes: Uint8Array<ArrayBuffer>;
  /** The served media type in lower case and without parameters; null when none was served. */
  contentType: string | null;
  /** The extension of the path, in lower case and without the dot; null when it has none. */
  extension: string | null;
}

const IMAGE_TARGET_RULES: TargetRules = { allowsHttp: true, allowsAnyPort: true };
const IMAGE_FETCH_HEADERS = {
  accept: 'image/*,*/*;q=0.1',
  'accept-encoding': 'identity',
  'user-agent': 'Darkroom',
};

const MAX_RETRY_AFTER_SECONDS = 60;
const MAX_LOCATION_CHARACTERS = 2048;

/**
 * Fetches the image at a URL that a user gave.
 * @throws ApiError 400 invalid_param (not allowed, a redirect, an HTTP error, empty, or a content coding that cannot be
 * decoded), 413 payload_too_large, 503 provider_unavailable with reason url_unavailable (the host failed or was too
 * slow, perhaps only for a while); the signal's reason when the caller aborted.
 */
async function fetchImage(
  text: string,
  { limitBytes, timeoutMs, signal, param }: ImageFetchOptions,
  network: NetworkRules,
): Promise<FetchedImage> {
  const address = param ?? 'url';
  const deadline = AbortSignal.timeout(timeoutMs);
  const ended = signal === undefined ? deadline : AbortSignal.any([deadline, signal]);
  try {
    const target = await resolveTarget(text, IMAGE_TARGET_RULES, network, ended);
    const call = {
      method: 'GET',
      headers: IMAGE_FETCH_HEADERS,
      answerTimeoutMs: timeoutMs,
      signal: ended,
    } as const;
    const response = await exchangeHttp(target, call, network.allowed);
    try {
      checkStatus(response, target.url, address);
      const bytes = await readDecodedBody(response, limitBytes).catch((error: unknown) => {
        throw error instanceof ContentCodingError ? undecodableBodyError(error, limitBytes, param) : error;
      });
      if (bytes.length === 0)
        throw invalidParamError(address, 'The url answers an empty body; send the address of an image.');
      return { bytes, contentType: contentTypeOf(response), extension: extensionOf(target.url) };
    } finally {
      response.destroy();
    }
  } catch (error) {
    throw error instanceof ApiError ? error : apiErrorOfOutbound(outboundErrorOf(error, ended), address);
  }
}

function checkStatus({ statusCode = 0, headers }: IncomingMessage, url: URL, param: string): void {
  if (statusCode >= 200 && statusCode < 300) return;
  if (statusCode >= 300 && statusCode < 400) {
    const location = headers.location && (URL.parse(headers.location, url.href)?.href ?? headers.location);
    throw invalidParamError(
      param,
      'The url is a redirect, which is not followed; send the address it leads to.',
      { status: statusCode, location: location?.slice(0, MAX_LOCATION_CHARACTERS) },
    );
  }
  if (statusCode >= 500 || statusCode === 429 || statusCode === 408) {
    const retryAfterSeconds = retryAfterOf(headers['retry-after']);
    throw hostUnavailableError(`HTTP ${statusCode}`, { param, retryAfterSeconds });
  }
  const message = `The url answers HTTP ${statusCode}; send one that anybody may read.`;
  throw invalidParamError(param, message, { status: statusCode });
}

function contentTypeOf({ headers }: IncomingMessage): string | null {
  return headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() || null;
}

function extensionOf({ pathname }: URL): string | null {
  return /\.([a-z0-9]{1,8})$/i.exec(pathname)?.[1]?.toLowerCase() ?? null;
}

function undecodableBodyError(
  { fault, coding, cause }: ContentCodingError,
  limitBytes: number,
  param?: string,
): ApiError {
  if (fault === 'large') return imageTooLargeError(limitBytes, param);
  const faultText = {
    unknown: `has the content coding "${coding}", which is not read: serve it as it is, or as ${SUPPORTED_CODINGS_TEXT}`,
    many: `is coded as "${coding}" with more than ${MAX_CODINGS} content codings or ${MAX_ZSTD_FRAMES} zstd frames: serve it as it is`,
    damaged: `says that it is coded as ${coding}, but does not decode: it is cut off, or not ${coding}`,
  }[fault];
  const refusal = invalidParamError(param ?? 'url', `The body of the url ${faultText}.`, { coding });
  // The cause is logged, but never sent to the caller.
  refusal.cause = cause;
  return refusal;
}

function imageTooLargeError(limitBytes: number, param = 'file'): ApiError {
  const message = `The image at the url is larger than ${limitBytes} bytes; send a smaller one.`;
  return new ApiError('payload_too_large', message, { param, details: { limit: limitBytes } });
}

/** The seconds to wait by a Retry-After header (seconds or a date), within bounds; undefined without a valid one. */
function retryAfterOf(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : Math.ceil((Date.parse(header) - Date.now()) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 1), MAX_RETRY_AFTER_SECONDS);
}

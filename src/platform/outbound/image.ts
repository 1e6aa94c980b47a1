import type { IncomingMessage } from 'node:http';
import { ApiError, invalidParamError } from '../http/errors/errors.ts';
import { ContentCodingError, readDecodedBody, SUPPORTED_CODINGS_TEXT } from './codings.ts';
import { apiErrorOfOutbound, hostUnavailableError } from './errors.ts';
import { exchangeHttp, outboundErrorOf } from './exchange.ts';
import { type NetworkRules, resolveTarget, type TargetRules } from './target.ts';

export interface ImageFetchOptions {
  limitBytes: number;
  /** The timeout of the whole fetch: name, connection, response and body. */
  timeoutMs: number;
  signal?: AbortSignal;
  /** The field of the call that contains the URL. Absent: `url`, and `file` for an image that is too large. */
  param?: string | undefined;
}

export interface FetchedImage {
  /** The bytes, in their own ArrayBuffer, so that they can be transferred. */
  bytes: Uint8Array<ArrayBuffer>;
  /** The served media type in lower case and without parameters; null when none was served. */
  contentType: string | null;
  /** The extension of the path, in lower case and without the dot; null when it has none. */
  extension: string | null;
}

const IMAGE_RULES: TargetRules = { allowsHttp: true, allowsAnyPort: true };
const HEADERS = { accept: 'image/*,*/*;q=0.1', 'accept-encoding': 'identity', 'user-agent': 'Darkroom' };

const MAX_RETRY_AFTER_SECONDS = 60;
const MAX_LOCATION_CHARACTERS = 2048;

/**
 * Fetches the image at a URL that a user gave.
 * @throws ApiError 400 invalid_param (not allowed, a redirect, an HTTP error, empty, or a content coding that
 *   cannot be undone), 413 payload_too_large, 503 provider_unavailable with reason url_unavailable (its host
 *   failed or was too slow, now); the signal's reason when the caller aborted.
 */
export async function fetchImage(
  text: string,
  { limitBytes, timeoutMs, signal, param }: ImageFetchOptions,
  network: NetworkRules,
): Promise<FetchedImage> {
  const address = param ?? 'url';
  const deadline = AbortSignal.timeout(timeoutMs);
  const ended = signal === undefined ? deadline : AbortSignal.any([deadline, signal]);
  try {
    const target = await resolveTarget(text, IMAGE_RULES, network, ended);
    const call = { method: 'GET', headers: HEADERS, answerTimeoutMs: timeoutMs, signal: ended } as const;
    const response = await exchangeHttp(target, call, network.allowed);
    try {
      checkStatus(response, target.url, address);
      const bytes = await readDecodedBody(response, limitBytes).catch((error: unknown) => {
        throw error instanceof ContentCodingError ? undecoded(error, limitBytes, param) : error;
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
      {
        status: statusCode,
        location: location?.slice(0, MAX_LOCATION_CHARACTERS),
      },
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

function undecoded(
  { fault, coding, cause }: ContentCodingError,
  limitBytes: number,
  param?: string,
): ApiError {
  if (fault === 'large') return tooLarge(limitBytes, param);
  const what =
    fault === 'unknown'
      ? `has the content coding "${coding}", which is not read: serve it as it is, or as ${SUPPORTED_CODINGS_TEXT}`
      : `says that it is coded as ${coding}, but does not decode: it is cut off, or not ${coding}`;
  const refusal = invalidParamError(param ?? 'url', `The body of the url ${what}.`, { coding });
  // The cause is only logged.
  refusal.cause = cause;
  return refusal;
}

function tooLarge(limitBytes: number, param = 'file'): ApiError {
  const message = `The image at the url is larger than ${limitBytes} bytes; send a smaller one.`;
  return new ApiError('payload_too_large', message, { param, details: { limit: limitBytes } });
}

/** The Retry-After of the host, in seconds or as a date, within bounds. */
function retryAfterOf(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : Math.ceil((Date.parse(header) - Date.now()) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 1), MAX_RETRY_AFTER_SECONDS);
}

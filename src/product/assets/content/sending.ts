import { Readable } from 'node:stream';
import { create } from 'content-disposition';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isEtagMatch } from '../../../platform/http/hooks/caching.ts';
import type { ByteRange } from '../../../platform/stores/objects/port.ts';
import { hasOnlyCookieCredential } from '../../accounts/authentication.ts';
import { isSignedLinkRequest } from './links.ts';

interface SentFile {
  type: string;
  sizeBytes: number;
  etag: string;
  /** The instants after which no copy of the file may be used, in epoch milliseconds; null for no limit. */
  ends: ReadonlyArray<number | null>;
  /** Further headers of the response. */
  headers: Record<string, string>;
  /**
   * Opens the bytes, or a range of them. The function is not called for a response without bytes: a 304, or the
   * response to a HEAD.
   */
  open(range: ByteRange | null): Readable | Promise<Readable>;
}

/**
 * Sends a file: all of it, the single range that the request names, or 304 when the client has it already. The headers
 * are set only after the file is open, so that a failure to open it is sent without them.
 */
export async function sendFileOrRange(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, sizeBytes, etag, ends, headers, open }: SentFile,
  nowMs: number,
): Promise<FastifyReply> {
  const isKnown = isEtagMatch(request.headers['if-none-match'], etag);
  const range = requestedRange(request, { sizeBytes, etag });
  // A HEAD gets an empty stream, because the server would read the whole file only to discard it.
  const body = isKnown || request.method === 'HEAD' ? Readable.from([]) : await open(range);
  reply
    .type(type)
    .headers(headers)
    .header('etag', etag)
    .header('cache-control', cacheControlHeader(request, ends, nowMs))
    .header('accept-ranges', 'bytes');
  if (isKnown) return reply.code(304).send();
  const { start, end } = range ?? { start: 0, end: sizeBytes - 1 };
  if (range !== null) reply.code(206).header('content-range', `bytes ${start}-${end}/${sizeBytes}`);
  return reply.header('content-length', String(end - start + 1)).send(body);
}

/**
 * The single range that a GET requests. Null means that the whole content is sent: no range was requested, or several,
 * or one outside the content. Other methods ignore Range (RFC 9110, 14.2). With If-Range, the range applies only to
 * content with that ETag.
 */
function requestedRange(
  { method, headers }: Pick<FastifyRequest, 'method' | 'headers'>,
  { sizeBytes, etag }: { sizeBytes: number; etag: string },
): ByteRange | null {
  if (method !== 'GET') return null;
  const ifRange = headers['if-range']?.toString();
  const [, first = '', last = ''] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(headers.range ?? '') ?? [];
  if (ifRange !== undefined && ifRange !== etag) return null;
  if (first === '' && last === '') return null;
  const start = first === '' ? Math.max(0, sizeBytes - Number(last)) : Number(first);
  const end = first === '' || last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  return start <= end ? { start, end } : null;
}

const EXTENSIONS_UNLIKE_FORMAT: Record<string, string> = { jpeg: 'jpg', tiff: 'tif' };
const EXTENSION_PATTERN = /\.\w{1,5}$/;
const UNSAFE_ASCII_NAME_CHARACTERS_PATTERN = /[^\x20-\x7e]|["\\/%;]/gu;
const UNSAFE_NAME_CHARACTERS_PATTERN = /[\p{Cc}\p{Bidi_Control}\p{Surrogate}/\\]/gu;

/**
 * The content policy of an image. A browser that opens it as a page, such as an uploaded SVG, runs no script and loads
 * nothing.
 */
export const IMAGE_CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/** Seconds in a year, which caches treat as unlimited. */
export const MAX_AGE_SECONDS = 31_536_000;

/**
 * The Cache-Control header. The bytes of an asset never change, so a copy is valid until the asset or the link expires.
 * A browser must revalidate pictures that the console shows, because another person may use the browser after a
 * sign-out.
 * @param ends the times after which no copy may be used, in epoch milliseconds; null means no such time.
 */
export function cacheControlHeader(
  request: FastifyRequest,
  ends: ReadonlyArray<number | null>,
  nowMs: number,
): string {
  if (!isSignedLinkRequest(request) && mayBeFromConsole(request)) return 'private, no-cache';
  const remaining = ends.map((end) => (end === null ? MAX_AGE_SECONDS : Math.floor((end - nowMs) / 1000)));
  const seconds = Math.max(0, Math.min(MAX_AGE_SECONDS, ...remaining));
  return `private, max-age=${seconds}, immutable`;
}

/** Whether the request may come from a page of the console, judging by its cookie or the header for a pasted key. */
function mayBeFromConsole(request: FastifyRequest): boolean {
  return hasOnlyCookieCredential(request) || request.headers['x-console'] !== undefined;
}

/**
 * The name of a downloaded file, with the extension of its format.
 * @param name the given name. It may have the extension of another format.
 */
export function downloadFileName(name: string, format: string, keepsExtension: boolean): string {
  const safe = name.replace(UNSAFE_NAME_CHARACTERS_PATTERN, '_');
  const hasExtension = EXTENSION_PATTERN.test(safe);
  if (hasExtension && keepsExtension) return safe;
  return `${hasExtension ? safe.replace(EXTENSION_PATTERN, '') : safe}.${EXTENSIONS_UNLIKE_FORMAT[format] ?? format}`;
}

/** The Content-Disposition header, with the name in ASCII for old clients and in UTF-8 for all others. */
export function contentDispositionHeader(type: 'attachment' | 'inline', filename: string): string {
  return create(filename, { type, fallback: filename.replace(UNSAFE_ASCII_NAME_CHARACTERS_PATTERN, '_') });
}

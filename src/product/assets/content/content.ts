import { create } from 'content-disposition';
import type { FastifyRequest } from 'fastify';
import type { ByteRange } from '../../../platform/values/byte-range.ts';

/**
 * The single range that a GET asks for. Null when it asks for none, for several or for one outside the content: the
 * whole content is sent then. Range means nothing to other methods (RFC 9110, 14.2). With If-Range, it applies only to
 * content with that ETag.
 */
export function rangeOf(
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

const EXTENSIONS: Record<string, string> = { jpeg: 'jpg', tiff: 'tif' };
const HAS_EXTENSION = /\.\w{1,5}$/;
const UNSAFE_IN_ASCII = /[^\x20-\x7e]|["\\/%;]/gu;
const UNSAFE_IN_NAMES = /[\p{Cc}\p{Bidi_Control}\p{Surrogate}/\\]/gu;

/** Seconds in a year, which caches treat as unlimited. */
const MAX_AGE_SECONDS = 31_536_000;

/**
 * The Cache-Control header. The bytes of an asset never change, so a copy is valid until the asset or the link expires.
 * @param ends epoch milliseconds after which no copy may be used; null for no such time.
 */
export function cacheControl(ends: ReadonlyArray<number | null>, nowMs: number): string {
  const remaining = ends.map((end) => (end === null ? MAX_AGE_SECONDS : Math.floor((end - nowMs) / 1000)));
  const seconds = Math.max(0, Math.min(MAX_AGE_SECONDS, ...remaining));
  return `private, max-age=${seconds}, immutable`;
}

/**
 * The name of a file for its reader, with an extension.
 * @param name as it was given, which may have the extension of another format.
 */
export function fileNameOf(name: string, format: string, keepsExtension: boolean): string {
  const safe = name.replace(UNSAFE_IN_NAMES, '_');
  const hasExtension = HAS_EXTENSION.test(safe);
  if (hasExtension && keepsExtension) return safe;
  return `${hasExtension ? safe.replace(HAS_EXTENSION, '') : safe}.${EXTENSIONS[format] ?? format}`;
}

/** The Content-Disposition header, with the name in ASCII for old clients and in UTF-8 for all others. */
export function disposition(type: 'attachment' | 'inline', filename: string): string {
  return create(filename, { type, fallback: filename.replace(UNSAFE_IN_ASCII, '_') });
}

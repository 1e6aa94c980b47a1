import type { DoneAsset } from './reading.ts';

export interface ByteRange {
  /** Both ends are included. */
  start: number;
  end: number;
}

/**
 * The one range that a Range header asks for. Null for none, for several, and for one that the bytes do not have: the
 * whole is the answer then.
 * @param ifRange the If-Range header: the range is meant for content of this tag alone.
 */
export function rangeOf(
  header: string | undefined,
  ifRange: string | undefined,
  { sizeBytes, etag }: { sizeBytes: number; etag: string },
): ByteRange | null {
  const [, first = '', last = ''] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header ?? '') ?? [];
  if (ifRange !== undefined && ifRange !== etag) return null;
  if (first === '' && last === '') return null;
  const start = first === '' ? Math.max(0, sizeBytes - Number(last)) : Number(first);
  const end = first === '' || last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  return start <= end ? { start, end } : null;
}

/** Whether an If-None-Match header names this tag; weak ones count, as they do for reading. */
export function isFresh(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((tag) => ['*', etag].includes(tag.trim().replace(/^W\//, '')));
}

const EXTENSIONS: Record<string, string> = { jpeg: 'jpg', tiff: 'tif' };
const UNSAFE_IN_ASCII = /[^\x20-\x7e]|["\\/%;]/gu;
const UNSAFE_IN_NAMES = /[\p{Cc}\p{Bidi_Control}\p{Surrogate}/\\]/gu;

/** Content-Disposition of a download: the name in ASCII for old readers, and whole in UTF-8 (RFC 6266). */
export function attachment(asset: DoneAsset): string {
  const name = (asset.name ?? asset._id).replace(UNSAFE_IN_NAMES, '_');
  const { format } = asset.image;
  const filename = /\.\w{1,5}$/.test(name) ? name : `${name}.${EXTENSIONS[format] ?? format}`;
  const encoded = encodeURIComponent(filename).replace(/['()*]/g, escapedByte);
  return `attachment; filename="${filename.replace(UNSAFE_IN_ASCII, '_')}"; filename*=UTF-8''${encoded}`;
}

/** What encodeURIComponent leaves and RFC 5987 does not. */
function escapedByte(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

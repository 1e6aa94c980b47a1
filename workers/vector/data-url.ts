/** The content of a `data:` URL (RFC 2397). */
interface DataUrlContent {
  /** The media type in lower case and without parameters; empty if none is named. */
  type: string;
  bytes: Buffer;
}

/** Matches the raster media types that the renderer draws. */
export const RASTER_MEDIA_TYPE_PATTERN = /^image\/(?:png|jpeg|gif|webp|avif)$/;
/** Matches the first bytes of the pictures that browsers draw: PNG, JPEG, GIF, WebP, AVIF. */
export const RASTER_START = /^(?:\x89PNG|\xff\xd8\xff|GIF8|RIFF|.{4}ftypavi[fs])/s;
const DATA_URL_PREFIX = /^\s*data:([^,]*),/i;
const BASE64_PARAMETER = /;\s*base64\s*$/i;
const PERCENT_ESCAPE = /%([0-9a-f]{2})/gi;

/** Decodes a `data:` URL; null for any other address. A `%` without two digits is kept, as in browsers. */
export function decodeDataUrl(address: string): DataUrlContent | null {
  const [head, media = ''] = DATA_URL_PREFIX.exec(address) ?? [];
  if (head === undefined) return null;
  const type = (media.split(';', 1)[0] ?? '').trim().toLowerCase();
  const data = decodePercentEscapes(address.slice(head.length));
  // A fragment may follow the data. Base64 ends at the first #. Text may itself contain #, so a fragment is cut off
  // only after the last tag.
  if (BASE64_PARAMETER.test(media))
    return { type, bytes: Buffer.from(data.split('#', 1)[0] ?? '', 'base64') };
  const end = RASTER_MEDIA_TYPE_PATTERN.test(type) ? data.length : data.lastIndexOf('>') + 1;
  return { type, bytes: Buffer.from(data.slice(0, end), 'latin1') };
}

/** Decodes the percent escapes of a text to bytes, one character for each byte. */
function decodePercentEscapes(text: string): string {
  const bytes = Buffer.from(text).toString('latin1');
  return bytes.replace(PERCENT_ESCAPE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

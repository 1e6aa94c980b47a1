import { inflateSync } from 'node:zlib';
import { Bytes } from '../../formats/bytes.ts';
import { pngChunk, pngChunks } from '../../formats/png.ts';
import { withoutExifPrefix } from '../../formats/tiff.ts';

/**
 * Moves EXIF and XMP that ImageMagick stores in a PNG as texts of hex digits into the chunks that the format has for
 * them. Tag readers understand the texts, but libvips does not, and would drop them where metadata is kept.
 */

const RAW_PROFILE = /^Raw profile type (exif|xmp|APP1)$/;
const XMP_PREFIX = Buffer.from('http://ns.adobe.com/xap/1.0/\0', 'latin1');
const XMP_KEYWORD = 'XML:com.adobe.xmp';
/** Limit of an inflated profile, above that of any profile of tags; larger texts were removed before (png-guard.ts). */
const TEXT_LIMIT_BYTES = 4 * 1024 * 1024;

/** The types of chunk that raw profiles become: EXIF, XMP. */
const KINDS = ['eXIf', 'iTXt'];

/**
 * Returns the same bytes, or a copy in which raw profiles have become chunks of their own: the first of each kind,
 * where the file has no EXIF chunk already. A file that is no PNG is returned as it is.
 * @throws TooManyParts
 */
export function withProfileChunks(input: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const png = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  const chunks = [...pngChunks(new Bytes(png))];
  const told = new Set(chunks.filter(({ type }) => type === 'eXIf').map(({ type }) => type));
  const kept: Buffer[] = [];
  let keptFrom = 0;
  for (const { type, at, start, end, next } of chunks) {
    if (told.size === KINDS.length) break;
    if (type !== 'zTXt' && type !== 'tEXt') continue;
    const profile = rawProfileOf(type, png.subarray(start, end));
    const own = profile && chunkOf(profile);
    const kind = own?.toString('latin1', 4, 8) ?? '';
    if (own === undefined || told.has(kind)) continue;
    told.add(kind);
    kept.push(png.subarray(keptFrom, at), own);
    keptFrom = next;
  }
  return keptFrom === 0 ? input : Buffer.concat([...kept, png.subarray(keptFrom)]);
}

/** The bytes that a text chunk encodes as a name, a length, and hex digits in lines. */
function rawProfileOf(type: 'zTXt' | 'tEXt', data: Buffer): Buffer | undefined {
  const keywordEnd = data.indexOf(0);
  if (!RAW_PROFILE.test(data.toString('latin1', 0, Math.max(0, keywordEnd)))) return undefined;
  const text = type === 'tEXt' ? data.subarray(keywordEnd + 1) : inflated(data.subarray(keywordEnd + 2));
  return text && Buffer.from(text.toString('latin1').trim().split('\n').slice(2).join(''), 'hex');
}

function inflated(packed: Buffer): Buffer | undefined {
  try {
    return inflateSync(packed, { maxOutputLength: TEXT_LIMIT_BYTES });
  } catch {
    return undefined;
  }
}

/** A chunk of the profile's kind; undefined for a profile that is neither EXIF nor XMP. */
function chunkOf(profile: Buffer): Buffer | undefined {
  const exif = withoutExifPrefix(profile);
  if (/^(II\*\0|MM\0\*)/.test(exif.toString('latin1', 0, 4))) return pngChunk('eXIf', exif);
  const start = profile.subarray(0, XMP_PREFIX.byteLength).equals(XMP_PREFIX) ? XMP_PREFIX.byteLength : 0;
  const xmp = profile.subarray(start);
  if (!/^\s*(\uFEFF)?<(\?xpacket|x:xmpmeta|rdf:RDF)/.test(xmp.toString('utf8', 0, 64))) return undefined;
  // The keyword is followed by zeros: not compressed, no language, no translated keyword.
  return pngChunk('iTXt', Buffer.concat([Buffer.from(`${XMP_KEYWORD}\0\0\0\0\0`, 'latin1'), xmp]));
}

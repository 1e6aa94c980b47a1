import { inflateSync } from 'node:zlib';
import { Bytes } from '../../formats/bytes.ts';
import { pngChunk, pngChunks } from '../../formats/png.ts';
import { withoutExifPrefix } from '../../formats/tiff.ts';

/**
 * ImageMagick keeps a PNG's EXIF and XMP as texts of hex digits, which readers of tags understand and libvips does not: it
 * would leave them behind where metadata is kept. So they are put where the format has a place for them.
 */

const RAW_PROFILE = /^Raw profile type (exif|xmp|APP1)$/;
const XMP_PREFIX = Buffer.from('http://ns.adobe.com/xap/1.0/\0', 'latin1');
const XMP_KEYWORD = 'XML:com.adobe.xmp';
/** More than a profile of tags has; the guard against bulky texts has seen to larger ones. */
const TEXT_LIMIT_BYTES = 4 * 1024 * 1024;

/** The kinds of chunk that raw profiles become: EXIF, XMP. */
const KINDS = ['eXIf', 'iTXt'];

/**
 * Answers the same bytes, or a copy whose raw profiles have become chunks of their own, the first of each kind and where
 * the file has none already. What is no PNG is answered as it is.
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

/** The bytes that a text chunk spells: its name, its length, and hex digits in lines. */
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

/** A chunk of the profile's own kind; undefined for a profile of neither. */
function chunkOf(profile: Buffer): Buffer | undefined {
  const exif = withoutExifPrefix(profile);
  if (/^(II\*\0|MM\0\*)/.test(exif.toString('latin1', 0, 4))) return pngChunk('eXIf', exif);
  const start = profile.subarray(0, XMP_PREFIX.byteLength).equals(XMP_PREFIX) ? XMP_PREFIX.byteLength : 0;
  const xmp = profile.subarray(start);
  if (!/^\s*(\uFEFF)?<(\?xpacket|x:xmpmeta|rdf:RDF)/.test(xmp.toString('utf8', 0, 64))) return undefined;
  // Keyword, uncompressed, and neither a language nor a keyword in it.
  return pngChunk('iTXt', Buffer.concat([Buffer.from(`${XMP_KEYWORD}\0\0\0\0\0`, 'latin1'), xmp]));
}

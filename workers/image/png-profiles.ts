import { crc32, inflateSync } from 'node:zlib';

/**
 * ImageMagick keeps a PNG's EXIF and XMP as texts of hex digits, which readers of tags understand and libvips does not: it
 * would leave them behind where metadata is kept. So they are put where the format has a place for them.
 */

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
/** Length, type and checksum. */
const FRAME_BYTES = 12;
const RAW_PROFILE = /^Raw profile type (exif|xmp|APP1)$/;
const EXIF_PREFIX = Buffer.from('Exif\0\0', 'latin1');
const XMP_PREFIX = Buffer.from('http://ns.adobe.com/xap/1.0/\0', 'latin1');
const XMP_KEYWORD = 'XML:com.adobe.xmp';
/** More than a profile of tags has; the guard against bulky texts has seen to larger ones. */
const TEXT_LIMIT_BYTES = 4 * 1024 * 1024;

/** The kinds of chunk that raw profiles become: EXIF, XMP. */
const KINDS = ['eXIf', 'iTXt'];

/**
 * Answers the same bytes, or a copy whose raw profiles have become chunks of their own, the first of each kind and where
 * the file has none already. What is no PNG is answered as it is.
 */
export function withProfileChunks(input: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const png = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  if (!png.subarray(0, SIGNATURE.byteLength).equals(SIGNATURE)) return input;
  const told = new Set<string>();
  for (const { type } of chunksOf(png)) if (type === 'eXIf') told.add(type);
  const kept: Buffer[] = [];
  let keptFrom = 0;
  for (const { type, at, end } of chunksOf(png)) {
    if (told.size === KINDS.length) break;
    if (type !== 'zTXt' && type !== 'tEXt') continue;
    const profile = rawProfileOf(type, png.subarray(at + 8, end - 4));
    const own = profile && chunkOf(profile);
    const kind = own?.toString('latin1', 4, 8) ?? '';
    if (own === undefined || told.has(kind)) continue;
    told.add(kind);
    kept.push(png.subarray(keptFrom, at), own);
    keptFrom = end;
  }
  return keptFrom === 0 ? input : Buffer.concat([...kept, png.subarray(keptFrom)]);
}

function* chunksOf(png: Buffer): Generator<{ type: string; at: number; end: number }> {
  for (let at = SIGNATURE.byteLength; at + FRAME_BYTES <= png.byteLength; ) {
    const end = Math.min(at + FRAME_BYTES + png.readUInt32BE(at), png.byteLength);
    yield { type: png.toString('latin1', at + 4, at + 8), at, end };
    at = end;
  }
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
  const hasPrefix = profile.subarray(0, EXIF_PREFIX.byteLength).equals(EXIF_PREFIX);
  const exif = hasPrefix ? profile.subarray(EXIF_PREFIX.byteLength) : profile;
  if (/^(II\*\0|MM\0\*)/.test(exif.toString('latin1', 0, 4))) return framed('eXIf', exif);
  const start = profile.subarray(0, XMP_PREFIX.byteLength).equals(XMP_PREFIX) ? XMP_PREFIX.byteLength : 0;
  const xmp = profile.subarray(start);
  if (!/^\s*(\uFEFF)?<(\?xpacket|x:xmpmeta|rdf:RDF)/.test(xmp.toString('utf8', 0, 64))) return undefined;
  // Keyword, uncompressed, and neither a language nor a keyword in it.
  return framed('iTXt', Buffer.concat([Buffer.from(`${XMP_KEYWORD}\0\0\0\0\0`, 'latin1'), xmp]));
}

function framed(type: string, data: Buffer): Buffer {
  const chunk = Buffer.concat([Buffer.alloc(4), Buffer.from(type, 'latin1'), data, Buffer.alloc(4)]);
  chunk.writeUInt32BE(data.byteLength, 0);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, -4)), chunk.byteLength - 4);
  return chunk;
}

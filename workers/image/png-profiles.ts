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

/** Answers the same bytes, or a copy whose raw profiles have become chunks of their own. What is no PNG is answered as it is. */
export function withProfileChunks(input: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const png = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  if (!png.subarray(0, SIGNATURE.byteLength).equals(SIGNATURE)) return input;
  const chunks = chunksOf(png);
  const isTold = (type: string) => chunks.some((chunk) => chunk.toString('latin1', 4, 8) === type);
  const replaced = chunks.map((chunk) => {
    const profile = rawProfileOf(chunk);
    const own = profile && chunkOf(profile);
    return own === undefined || (isTold('eXIf') && own.toString('latin1', 4, 8) === 'eXIf') ? chunk : own;
  });
  return replaced.every((chunk, index) => chunk === chunks[index])
    ? input
    : Buffer.concat([SIGNATURE, ...replaced]);
}

function chunksOf(png: Buffer): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = SIGNATURE.byteLength; at < png.byteLength; ) {
    const end = at + FRAME_BYTES <= png.byteLength ? at + FRAME_BYTES + png.readUInt32BE(at) : png.byteLength;
    chunks.push(png.subarray(at, end));
    at = end;
  }
  return chunks;
}

/** The bytes that a text chunk spells: its name, its length, and hex digits in lines. */
function rawProfileOf(chunk: Buffer): Buffer | undefined {
  const type = chunk.toString('latin1', 4, 8);
  if (type !== 'zTXt' && type !== 'tEXt') return undefined;
  const data = chunk.subarray(8, -4);
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

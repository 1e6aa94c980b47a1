import { ByteReader } from '../../formats/bytes.ts';
import { buildPngChunk, inflateWithLimit, pngChunks, replacePngChunks } from '../../formats/png.ts';
import { withoutExifPrefix } from '../../formats/tiff.ts';

/**
 * Moves EXIF and XMP that ImageMagick stores in a PNG as texts of hex digits into the PNG's own chunks for them. Tag
 * readers understand such texts, but libvips does not, and would drop them when metadata is kept.
 */

const RAW_PROFILE = /^Raw profile type (exif|xmp|APP1)$/;
const XMP_PREFIX = Buffer.from('http://ns.adobe.com/xap/1.0/\0', 'latin1');
const XMP_KEYWORD = 'XML:com.adobe.xmp';
/** Limit of an inflated profile. No profile of tags is larger; larger texts were removed before (png-guard.ts). */
const MAX_TEXT_BYTES = 4 * 1024 * 1024;

/** The types of chunk that raw profiles become: EXIF, XMP. */
const KINDS = ['eXIf', 'iTXt'];

/**
 * Replaces the first raw profile with EXIF by an eXIf chunk, and the first one with XMP by an iTXt chunk. A file that
 * has an eXIf chunk keeps it. Returns the same bytes if nothing is replaced, and if the file is not a PNG.
 * @throws TooManyParts
 */
export function withRawProfilesAsChunks(input: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const types = [...pngChunks(new ByteReader(input))].map(({ type }) => type);
  const found = new Set<string>(types.filter((type) => type === 'eXIf'));
  return replacePngChunks(input, ({ type, start, end }, png) => {
    if (found.size === KINDS.length || (type !== 'zTXt' && type !== 'tEXt')) return undefined;
    const profile = rawProfileOf(type, png.subarray(start, end));
    const own = profile && chunkOf(profile);
    const kind = own?.toString('latin1', 4, 8) ?? '';
    if (found.has(kind)) return undefined;
    if (own !== undefined) found.add(kind);
    return own;
  });
}

/** The profile that a text chunk holds. */
function rawProfileOf(type: 'zTXt' | 'tEXt', data: Buffer): Buffer | undefined {
  const keywordEnd = data.indexOf(0);
  if (!RAW_PROFILE.test(data.toString('latin1', 0, Math.max(0, keywordEnd)))) return undefined;
  const text =
    type === 'tEXt'
      ? data.subarray(keywordEnd + 1)
      : inflateWithLimit(data.subarray(keywordEnd + 2), MAX_TEXT_BYTES);
  return text && decodeHexProfile(text.toString('latin1'));
}

/** The bytes of a profile that is written as text: a name, a length, and lines of hex digits. */
export function decodeHexProfile(text: string): Buffer {
  return Buffer.from(text.trim().split('\n').slice(2).join(''), 'hex');
}

/** The chunk for a profile; undefined for a profile that is neither EXIF nor XMP. */
function chunkOf(profile: Buffer): Buffer | undefined {
  const exif = withoutExifPrefix(profile);
  if (/^(II\*\0|MM\0\*)/.test(exif.toString('latin1', 0, 4))) return buildPngChunk('eXIf', exif);
  const start = profile.subarray(0, XMP_PREFIX.byteLength).equals(XMP_PREFIX) ? XMP_PREFIX.byteLength : 0;
  const xmp = profile.subarray(start);
  if (!/^\s*(\uFEFF)?<(\?xpacket|x:xmpmeta|rdf:RDF)/.test(xmp.toString('utf8', 0, 64))) return undefined;
  // The keyword is followed by zeros: not compressed, no language, no translated keyword.
  return buildPngChunk('iTXt', Buffer.concat([Buffer.from(`${XMP_KEYWORD}\0\0\0\0\0`, 'latin1'), xmp]));
}

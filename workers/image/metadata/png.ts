import { ByteReader } from '../../formats/bytes.ts';
import {
  buildPngChunk,
  inflateWithLimit,
  type PngChunk,
  pngChunks,
  replacePngChunks,
} from '../../formats/png.ts';
import { withoutExifPrefix } from '../../formats/tiff.ts';
import { blankUncarriedEntries } from './edited-exif.ts';
import { containsPicture } from './embedded-pictures.ts';

/**
 * Limits the memory and the time that a PNG's compressed texts can cost. libvips inflates all texts whenever it opens
 * the file: a 250 KB file took 1.6 GB, and 60,000 short texts took more than a second. Texts that inflate to more than
 * is ever reported are removed, and so are all texts after the first thousand. The picture and every other chunk stay
 * unchanged.
 */

/** The limits of one text and of all texts, when they are inflated. */
const MAX_INFLATED_TEXT_BYTES = 1024 * 1024;
const MAX_ALL_TEXTS_BYTES = 4 * 1024 * 1024;
/** The most compressed texts of a file. Each takes 20 µs, however short it is. */
const MAX_COMPRESSED_TEXTS = 1_000;
/** Types of chunks with compressed texts: zTXt is always compressed, iTXt has a flag for it. */
const COMPRESSED_TEXT_TYPES = ['zTXt', 'iTXt'];
const EMPTY_BYTES = new Uint8Array();

/**
 * Returns the same bytes, or a copy without the texts that are too large. A file that is not a PNG is returned
 * unchanged.
 */
export function withoutBulkyTexts(input: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  let leftBytes = MAX_ALL_TEXTS_BYTES;
  let leftTexts = MAX_COMPRESSED_TEXTS;
  return replacePngChunks(input, ({ type, start, end }, png) => {
    const packed = COMPRESSED_TEXT_TYPES.includes(type)
      ? deflatedTextIn(type, png.subarray(start, end))
      : undefined;
    if (packed === undefined) return undefined;
    if (leftTexts === 0 || leftBytes === 0) return EMPTY_BYTES;
    const limit = Math.min(MAX_INFLATED_TEXT_BYTES, leftBytes);
    const text = inflateWithLimit(packed, limit);
    // A text that is too large has cost as much as one of the limit.
    leftBytes -= text?.byteLength ?? limit;
    leftTexts -= 1;
    return text === undefined ? EMPTY_BYTES : undefined;
  });
}

/**
 * The deflated text in a text chunk; undefined for text that is not compressed. A zTXt chunk holds `keyword\0`, method
 * and data. An iTXt chunk holds `keyword\0`, flag, method, two more texts and data.
 */
function deflatedTextIn(type: string, data: Buffer): Buffer | undefined {
  const keywordEnd = data.indexOf(0);
  if (keywordEnd === -1) return undefined;
  if (type === 'tEXt') return undefined;
  if (type === 'zTXt') return data.subarray(keywordEnd + 2);
  return data[keywordEnd + 1] === 1 ? data.subarray(internationalTextAt(data, keywordEnd)) : undefined;
}

/** The offset of the text in an iTXt chunk, after its language and its translated keyword. */
function internationalTextAt(data: Buffer, keywordEnd: number): number {
  const languageEnd = data.indexOf(0, keywordEnd + 3);
  return data.indexOf(0, languageEnd + 1) + 1;
}

const XMP_KEYWORD = 'XML:com.adobe.xmp';
/** How an iTXt chunk with XMP begins. Its keyword ends with a zero. */
const XMP_START = `${XMP_KEYWORD}\0`;

/**
 * Moves EXIF and XMP before the pixels of a PNG. The format allows them anywhere, and some programs write them at the
 * end, where libvips does not look. If there are several of a kind, the first one is used, as in the reader of headers.
 * Returns the same bytes if the blocks are there already, and if the file is not a PNG.
 */
export function withLeadingMetadata(input: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const bytes = new ByteReader(input);
  const found = new Map<'exif' | 'xmp', PngChunk>();
  let pixelsAt = input.length;
  for (const chunk of pngChunks(bytes)) {
    if (chunk.type === 'IDAT') pixelsAt = Math.min(pixelsAt, chunk.at);
    const kind = metadataKindOf(bytes, chunk);
    if (kind !== undefined && !chunk.truncated && !found.has(kind)) found.set(kind, chunk);
  }
  const afterPixels = [...found.values()].filter(({ at }) => at > pixelsAt);
  if (afterPixels.length === 0) return input;
  return replacePngChunks(input, ({ at, next }, png) => {
    if (at === pixelsAt)
      return Buffer.concat([
        ...afterPixels.map((one) => png.subarray(one.at, one.next)),
        png.subarray(at, next),
      ]);
    return afterPixels.some((one) => one.at === at) ? EMPTY_BYTES : undefined;
  });
}

function metadataKindOf(bytes: ByteReader, { type, start }: PngChunk): 'exif' | 'xmp' | undefined {
  if (type === 'eXIf') return 'exif';
  const isXmp = type === 'iTXt' && bytes.text(start, XMP_START.length) === XMP_START;
  return isXmp ? 'xmp' : undefined;
}

/**
 * Moves EXIF and XMP that ImageMagick stores in a PNG as texts of hex digits into the PNG's own chunks for them. Tag
 * readers understand such texts, but libvips does not, and would drop them when metadata is kept.
 */

const RAW_PROFILE_KEYWORD = /^Raw profile type (exif|xmp|APP1)$/;
const XMP_PREFIX = Buffer.from('http://ns.adobe.com/xap/1.0/\0', 'latin1');
/**
 * The limit of an inflated profile. No EXIF or XMP profile is larger, because `withoutBulkyTexts` removes larger texts.
 */
const MAX_PROFILE_BYTES = 4 * 1024 * 1024;

/** The types of the chunks that replace raw profiles: eXIf for EXIF, iTXt for XMP. */
const PROFILE_CHUNK_TYPES = ['eXIf', 'iTXt'];

/**
 * Replaces the first raw profile with EXIF by an eXIf chunk, and the first one with XMP by an iTXt chunk. A file that
 * has an eXIf chunk keeps it. Returns the same bytes if nothing is replaced, and if the file is not a PNG.
 * @throws TooManyPartsError
 */
export function withRawProfilesAsChunks(input: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const types = [...pngChunks(new ByteReader(input))].map(({ type }) => type);
  const found = new Set<string>(types.filter((type) => type === 'eXIf'));
  return replacePngChunks(input, ({ type, start, end }, png) => {
    if (found.size === PROFILE_CHUNK_TYPES.length || (type !== 'zTXt' && type !== 'tEXt')) return undefined;
    const profile = rawProfileOf(type, png.subarray(start, end));
    const own = profile && profileChunkFor(profile);
    const kind = own?.toString('latin1', 4, 8) ?? '';
    if (found.has(kind)) return undefined;
    if (own !== undefined) found.add(kind);
    return own;
  });
}

/** The profile that a text chunk holds; undefined if it holds none. */
function rawProfileOf(type: 'zTXt' | 'tEXt', data: Buffer): Buffer | undefined {
  const keywordEnd = data.indexOf(0);
  if (!RAW_PROFILE_KEYWORD.test(data.toString('latin1', 0, Math.max(0, keywordEnd)))) return undefined;
  const text =
    type === 'tEXt'
      ? data.subarray(keywordEnd + 1)
      : inflateWithLimit(data.subarray(keywordEnd + 2), MAX_PROFILE_BYTES);
  return text && decodeHexProfile(text.toString('latin1'));
}

/** The bytes of a profile that is written as text: a name, a length, and lines of hex digits. */
export function decodeHexProfile(text: string): Buffer {
  return Buffer.from(text.trim().split('\n').slice(2).join(''), 'hex');
}

/** The chunk for a profile; undefined for a profile that is neither EXIF nor XMP. */
function profileChunkFor(profile: Buffer): Buffer | undefined {
  const exif = withoutExifPrefix(profile);
  // Decoders do not turn a picture by the orientation in such a text, so the chunk must not have it either.
  if (/^(II\*\0|MM\0\*)/.test(exif.toString('latin1', 0, 4)))
    return blankUncarriedEntries(exif, { orientation: true }) ? buildPngChunk('eXIf', exif) : undefined;
  const start = profile.subarray(0, XMP_PREFIX.byteLength).equals(XMP_PREFIX) ? XMP_PREFIX.byteLength : 0;
  const xmp = profile.subarray(start);
  if (!/^\s*(\uFEFF)?<(\?xpacket|x:xmpmeta|rdf:RDF)/.test(xmp.toString('utf8', 0, 64))) return undefined;
  // The zeros after the keyword mean: not compressed, no language, no translated keyword.
  return buildPngChunk('iTXt', Buffer.concat([Buffer.from(`${XMP_KEYWORD}\0\0\0\0\0`, 'latin1'), xmp]));
}

/** The texts of a PNG other than EXIF and XMP: title, author, comments. Only a PNG can carry them. */

const TEXT_CHUNK_TYPES = ['tEXt', 'zTXt', 'iTXt'];
/** Matches text chunks that hold a whole block of another format, such as EXIF with its thumbnail. */
const METADATA_BLOCK_START = /^(?:Raw profile type |XML:com\.adobe\.xmp\0)/;

export interface PngText {
  keyword: string;
  text: string;
  /** The chunk that holds the text, with its length and checksum. */
  chunk: Uint8Array;
}

/** The texts of a PNG that a result may carry, within the limits of `withoutBulkyTexts`; none for any other file. */
export function pngTexts(input: Uint8Array<ArrayBuffer>): PngText[] {
  const bytes = new ByteReader(withoutBulkyTexts(input));
  const texts: PngText[] = [];
  for (const { type, at, start, end, next, truncated } of pngChunks(bytes)) {
    if (!TEXT_CHUNK_TYPES.includes(type) || truncated || METADATA_BLOCK_START.test(bytes.text(start, 32)))
      continue;
    const content = Buffer.from(bytes.slice(start, end));
    const text = decodedTextOf(type, content);
    if (text === undefined || containsPicture(content) || containsPicture(text)) continue;
    const keyword = content.toString('latin1', 0, content.indexOf(0));
    const chunk = Buffer.from(bytes.slice(at, next));
    texts.push({ keyword, text: text.toString(type === 'iTXt' ? 'utf8' : 'latin1'), chunk });
  }
  return texts;
}

/** The encoded text of a text chunk; undefined if the chunk is damaged, or the text too long. */
function decodedTextOf(type: string, content: Buffer): Buffer | undefined {
  const packed = deflatedTextIn(type, content);
  if (packed !== undefined) return inflateWithLimit(packed, MAX_INFLATED_TEXT_BYTES);
  const keywordEnd = content.indexOf(0);
  if (keywordEnd === -1) return undefined;
  return content.subarray(type === 'iTXt' ? internationalTextAt(content, keywordEnd) : keywordEnd + 1);
}

/** A PNG with more chunks after its header. */
export function withPngTexts(
  png: Uint8Array<ArrayBuffer>,
  texts: readonly PngText[],
): Uint8Array<ArrayBuffer> {
  if (texts.length === 0) return png;
  return replacePngChunks(png, ({ type, at, next }, file) =>
    type === 'IHDR'
      ? Buffer.concat([file.subarray(at, next), ...texts.map(({ chunk }) => chunk)])
      : undefined,
  );
}

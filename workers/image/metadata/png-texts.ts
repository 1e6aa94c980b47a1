import { ByteReader } from '../../formats/bytes.ts';
import { inflateWithLimit, pngChunks, replacePngChunks } from '../../formats/png.ts';
import { containsPicture } from './embedded-pictures.ts';
import { deflatedTextIn, MAX_INFLATED_TEXT_BYTES } from './png-guard.ts';

/** Texts of a PNG besides EXIF and XMP: title, author, comments. Only a PNG can carry them. */

const TEXT_TYPES = ['tEXt', 'zTXt', 'iTXt'];
/** Matches text chunks that hold a whole block of another format, such as EXIF with its thumbnail. */
const BLOCK = /^(?:Raw profile type |XML:com\.adobe\.xmp\0)/;

/** The text chunks of a PNG that a result carries, each with its length and checksum; none for any other file. */
export function carriedPngTexts(input: Uint8Array): Uint8Array[] {
  const bytes = new ByteReader(input);
  const carried: Uint8Array[] = [];
  for (const { type, at, start, end, next, truncated } of pngChunks(bytes)) {
    if (!TEXT_TYPES.includes(type) || truncated || BLOCK.test(bytes.text(start, 32))) continue;
    const content = Buffer.from(bytes.slice(start, end));
    const packed = deflatedTextIn(type, content);
    const text = packed === undefined ? content : inflateWithLimit(packed, MAX_INFLATED_TEXT_BYTES);
    if (text !== undefined && !containsPicture(text)) carried.push(Buffer.from(bytes.slice(at, next)));
  }
  return carried;
}

/** A PNG with more chunks after its header. */
export function withPngTexts(png: Uint8Array<ArrayBuffer>, texts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  if (texts.length === 0) return png;
  return replacePngChunks(png, ({ type, at, next }, file) =>
    type === 'IHDR' ? Buffer.concat([file.subarray(at, next), ...texts]) : undefined,
  );
}

import { Bytes } from '../../formats/bytes.ts';
import { inflated, pngChunks, withChunks } from '../../formats/png.ts';
import { holdsPicture } from './embedded-pictures.ts';
import { MAX_TEXT_BYTES, packedText } from './png-guard.ts';

/** Texts of a PNG besides EXIF and XMP: title, author, comments. Only a PNG can carry them. */

const TEXT_TYPES = ['tEXt', 'zTXt', 'iTXt'];
/** Texts that hold a whole block of another format, such as EXIF with its thumbnail. */
const BLOCK = /^(?:Raw profile type |XML:com\.adobe\.xmp\0)/;

/** The text chunks of a PNG that are carried, each with its head and checksum; none for any other file. */
export function carriedTexts(input: Uint8Array): Uint8Array[] {
  const bytes = new Bytes(input);
  const carried: Uint8Array[] = [];
  for (const { type, at, start, end, next, truncated } of pngChunks(bytes)) {
    if (!TEXT_TYPES.includes(type) || truncated || BLOCK.test(bytes.text(start, 32))) continue;
    const content = Buffer.from(bytes.slice(start, end));
    const packed = packedText(type, content);
    const text = packed === undefined ? content : inflated(packed, MAX_TEXT_BYTES);
    if (text !== undefined && !holdsPicture(text)) carried.push(Buffer.from(bytes.slice(at, next)));
  }
  return carried;
}

/** A PNG with more chunks after its header. */
export function withTexts(png: Uint8Array<ArrayBuffer>, texts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  if (texts.length === 0) return png;
  return withChunks(png, ({ type, at, next }, file) =>
    type === 'IHDR' ? Buffer.concat([file.subarray(at, next), ...texts]) : undefined,
  );
}

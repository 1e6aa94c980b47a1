import { inflateWithLimit, replacePngChunks } from '../../formats/png.ts';

/**
 * Limits the memory that a PNG's compressed texts can cost. libvips inflates all texts whenever it opens the file, and
 * a 250 KB file took 1.6 GB. Texts that inflate to more than is ever reported are removed. The picture and every other
 * chunk stay unchanged.
 */

/** Limit of one text, when it is inflated. */
export const MAX_INFLATED_TEXT_BYTES = 1024 * 1024;
const MAX_ALL_TEXTS_BYTES = 4 * 1024 * 1024;
/** Types of chunks with compressed texts: zTXt is always compressed, iTXt has a flag for it. */
const TEXT_TYPES = ['zTXt', 'iTXt'];
const NOTHING = new Uint8Array();

/**
 * Returns the same bytes, or a copy without the texts that are too large. A file that is not a PNG is returned
 * unchanged.
 */
export function withoutBulkyTexts(input: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  let leftBytes = MAX_ALL_TEXTS_BYTES;
  return replacePngChunks(input, ({ type, start, end }, png) => {
    const packed = TEXT_TYPES.includes(type) ? deflatedTextIn(type, png.subarray(start, end)) : undefined;
    if (packed === undefined) return undefined;
    const text = inflateWithLimit(packed, Math.min(MAX_INFLATED_TEXT_BYTES, leftBytes));
    if (text === undefined) return NOTHING;
    leftBytes -= text.byteLength;
    return undefined;
  });
}

/**
 * The deflated part of a text chunk: `keyword\0`, method and data, or `keyword\0`, flag, method, two more texts and
 * data. Undefined for text that is not compressed.
 */
export function deflatedTextIn(type: string, data: Buffer): Buffer | undefined {
  const keywordEnd = data.indexOf(0);
  if (keywordEnd === -1) return undefined;
  if (type === 'tEXt') return undefined;
  if (type === 'zTXt') return data.subarray(keywordEnd + 2);
  if (data[keywordEnd + 1] !== 1) return undefined;
  const languageEnd = data.indexOf(0, keywordEnd + 3);
  return data.subarray(data.indexOf(0, languageEnd + 1) + 1);
}

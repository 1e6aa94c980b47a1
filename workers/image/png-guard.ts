import { inflateSync } from 'node:zlib';

/**
 * Keeps a PNG's compressed texts from costing a thousand times what they weigh: libvips inflates all of them whenever it
 * opens the file, and a 250 KB file took 1.6 GB. Texts that inflate to more than is ever told are taken out; the picture
 * and every other chunk stay as they are.
 */

const TEXT_LIMIT_BYTES = 1024 * 1024;
const ALL_TEXTS_LIMIT_BYTES = 4 * 1024 * 1024;
const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const COMPRESSED_TEXT = 0x7a545874;
const INTERNATIONAL_TEXT = 0x69545874;
/** zTXt and iTXt, as numbers: a file may have thousands of other chunks. */
const TEXT_TYPES = [COMPRESSED_TEXT, INTERNATIONAL_TEXT];
/** Length, type and checksum. */
const FRAME_BYTES = 12;

/** Answers the same bytes, or a copy without the texts that are too large. What is no PNG is answered as it is. */
export function withoutBulkyTexts(input: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const png = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  if (!png.subarray(0, SIGNATURE.byteLength).equals(SIGNATURE)) return input;
  const kept: Buffer[] = [];
  let keptFrom = 0;
  let leftBytes = ALL_TEXTS_LIMIT_BYTES;
  for (let at = SIGNATURE.byteLength; at + FRAME_BYTES <= png.byteLength; ) {
    const end = Math.min(at + FRAME_BYTES + png.readUInt32BE(at), png.byteLength);
    const type = png.readUInt32BE(at + 4);
    const packed = TEXT_TYPES.includes(type) ? packedText(type, png.subarray(at + 8, end - 4)) : undefined;
    const textBytes = packed === undefined ? 0 : inflatedBytes(packed, Math.min(TEXT_LIMIT_BYTES, leftBytes));
    if (textBytes === undefined) {
      kept.push(png.subarray(keptFrom, at));
      keptFrom = end;
    } else leftBytes -= textBytes;
    at = end;
  }
  return keptFrom === 0 ? input : Buffer.concat([...kept, png.subarray(keptFrom)]);
}

/** The deflated part of a text chunk: `keyword\0`, method and data, or `keyword\0`, flag, method, two more texts and data. */
function packedText(type: number, data: Buffer): Buffer | undefined {
  const keywordEnd = data.indexOf(0);
  if (keywordEnd === -1) return undefined;
  if (type === COMPRESSED_TEXT) return data.subarray(keywordEnd + 2);
  if (data[keywordEnd + 1] !== 1) return undefined;
  const languageEnd = data.indexOf(0, keywordEnd + 3);
  return data.subarray(data.indexOf(0, languageEnd + 1) + 1);
}

/** Undefined when it is more than the limit, or no whole deflate stream, which nobody can tell the size of. */
function inflatedBytes(packed: Buffer, limitBytes: number): number | undefined {
  try {
    return inflateSync(packed, { maxOutputLength: Math.max(limitBytes, 1) }).byteLength;
  } catch {
    return undefined;
  }
}

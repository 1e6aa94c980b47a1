/**
 * Recognises a picture inside a block of metadata. Such a picture is mostly a small copy of the original: it would show
 * what a crop cut away and what a redaction covered.
 */

/** The first bytes of JPEG, PNG, WebP, GIF, AVIF and HEIF files. */
const PICTURE_FILE_START = /\xff\xd8\xff|\x89PNG\r\n|RIFF.{4}WEBP|GIF8[79]a|ftyp(?:avi[fs]|mif1|hei[cx])/s;
/** Enough base64 or hexadecimal digits to hold the first bytes of a file and some of its content. */
const ENCODED_BYTES = /[\w+/-]{60,}/g;
/** The characters that may be between digits: ends of lines, and the zero bytes of letters in UTF-16. */
const DIGIT_SEPARATORS = /[\s\0]+/g;

/**
 * Whether a block of metadata contains a picture.
 * @param block bytes, or text that may hold bytes as base64 or in hexadecimal.
 */
export function containsPicture(block: Uint8Array | string): boolean {
  const text = typeof block === 'string' ? block : latin1Of(block);
  if (PICTURE_FILE_START.test(text)) return true;
  const runs = text.replace(DIGIT_SEPARATORS, '').match(ENCODED_BYTES) ?? [];
  return runs.some((digits) => decodingsOf(digits).some((bytes) => PICTURE_FILE_START.test(latin1Of(bytes))));
}

/**
 * The bytes that the digits encode, decoded from each possible offset, because other letters may come before the first
 * digit.
 */
function decodingsOf(digits: string): Buffer[] {
  const from = (encoding: 'base64' | 'hex', starts: readonly number[]) =>
    starts.map((start) => Buffer.from(digits.slice(start), encoding));
  return [...from('base64', [0, 1, 2, 3]), ...from('hex', [0, 1])];
}

function latin1Of({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1');
}

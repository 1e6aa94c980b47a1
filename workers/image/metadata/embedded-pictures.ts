/**
 * Recognises a picture inside a block of metadata. Such a picture is mostly a small copy of the original: it would show
 * what a crop cut away and what a redaction covered.
 */

/** The first bytes of JPEG, PNG, WebP, GIF, AVIF and HEIF files. */
const FILE = /\xff\xd8\xff|\x89PNG\r\n|RIFF.{4}WEBP|GIF8[79]a|ftyp(?:avi[fs]|mif1|hei[cx])/s;
/** The same in base64, with enough digits behind it to be no accident. Lines may be broken. */
const BASE64_FILE = /(?:[/_]9j[/_]|iVBORw0KGgo|UklGR|R0lGOD[dl]h|AAAA[\w+/]GZ0eXB)[\w+/=\s-]{40}/;

/** @param block bytes, or text that may hold bytes as base64. */
export function holdsPicture(block: Uint8Array | string): boolean {
  const text =
    typeof block === 'string'
      ? block
      : Buffer.from(block.buffer, block.byteOffset, block.byteLength).toString('latin1');
  return FILE.test(text) || BASE64_FILE.test(text);
}

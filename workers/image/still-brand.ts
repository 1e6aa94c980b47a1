/** Where an ISO file names its brand, after the size and type of the first box. */
const BRAND_AT = 8;

/**
 * An AVIF of a sequence names itself by that, and libvips does not open it, though it knows the still picture that stands
 * in such a file for players of none. Answers the same bytes, or a copy that names itself by the still picture.
 */
export function withStillBrand(input: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const head = Buffer.from(input.buffer, input.byteOffset, Math.min(input.byteLength, BRAND_AT + 4));
  if (head.toString('latin1', 4) !== 'ftypavis') return input;
  const copy = new Uint8Array(input);
  copy.set(Buffer.from('avif', 'latin1'), BRAND_AT);
  return copy;
}

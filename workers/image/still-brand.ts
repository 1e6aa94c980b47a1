import { isoBox, isoBrands } from '../formats/boxes.ts';
import { Bytes } from '../formats/bytes.ts';

/**
 * An AVIF of a sequence names itself by that, and libvips does not open it, though it knows the still picture that stands
 * in such a file for players of none. Answers the same bytes, or a copy that names itself by the still picture.
 */
export function withStillBrand(input: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const bytes = new Bytes(input);
  const brands = isoBox(bytes, { start: 0, end: bytes.length }, 'ftyp');
  if (brands === undefined || isoBrands(bytes)[0] !== 'avis') return input;
  const copy = new Uint8Array(input);
  copy.set(Buffer.from('avif', 'latin1'), brands.start);
  return copy;
}

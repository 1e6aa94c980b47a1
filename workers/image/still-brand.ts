import { isoBox, isoBrands } from '../formats/boxes.ts';
import { Bytes } from '../formats/bytes.ts';

/**
 * Makes the still picture of an AVIF sequence readable. Such a file has the brand `avis`, which libvips does not open,
 * though it contains a still picture for viewers that show no animation. Returns the same bytes, or a copy with the
 * brand `avif`.
 */
export function withStillBrand(input: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const bytes = new Bytes(input);
  const brands = isoBox(bytes, { start: 0, end: bytes.length }, 'ftyp');
  if (brands === undefined || isoBrands(bytes)[0] !== 'avis') return input;
  const copy = new Uint8Array(input);
  copy.set(Buffer.from('avif', 'latin1'), brands.start);
  return copy;
}

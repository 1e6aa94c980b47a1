import type { Bytes } from './bytes.ts';

const ORIENTATION_TAG = 0x0112;
const SHORT = 3;

/** The orientation of an EXIF block (a TIFF structure, with or without the "Exif" prefix), or 1 when it has none. */
export function exifOrientation(block: Bytes): number {
  const exif = block.text(0, 6) === 'Exif\0\0' ? block.from(6, block.length) : block;
  const order = exif.text(0, 2);
  if (exif.length < 8 || (order !== 'II' && order !== 'MM')) return 1;
  const littleEndian = order === 'II';
  const directory = exif.u32(4, littleEndian);
  if (directory + 2 > exif.length) return 1;
  const entries = exif.u16(directory, littleEndian);
  for (
    let entry = directory + 2;
    entry + 12 <= Math.min(exif.length, directory + 2 + entries * 12);
    entry += 12
  ) {
    if (exif.u16(entry, littleEndian) !== ORIENTATION_TAG) continue;
    return exif.u16(entry + 2, littleEndian) === SHORT
      ? validOrientation(exif.u16(entry + 8, littleEndian))
      : 1;
  }
  return 1;
}

/** A decoder ignores a value that is not an orientation. */
export function validOrientation(value: number): number {
  return value >= 1 && value <= 8 ? value : 1;
}

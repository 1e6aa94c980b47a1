import { Bytes } from '../../../../workers/formats/bytes.ts';
import { exifDirectories, firstNumber, SHORT, withoutExifPrefix } from '../../../../workers/formats/tiff.ts';

const ORIENTATION_TAG = 0x0112;

/** The orientation of an EXIF block (a TIFF structure, with or without the "Exif" prefix), or 1 when it has none. */
export function exifOrientation(block: Uint8Array): number {
  const bytes = new Bytes(withoutExifPrefix(block));
  const [directory] = exifDirectories(bytes);
  const entry = directory?.entries.find(({ tag }) => tag === ORIENTATION_TAG);
  if (directory === undefined || entry?.type !== SHORT) return 1;
  return validOrientation(firstNumber(bytes, directory, entry) ?? 1);
}

/** A decoder ignores a value that is not an orientation. */
export function validOrientation(value: number): number {
  return value >= 1 && value <= 8 ? value : 1;
}

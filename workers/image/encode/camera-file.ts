import { ByteReader } from '../../formats/bytes.ts';
import { APP1_MARKER, jpegHeadSegments } from '../../formats/jpeg.ts';
import { exifDirectories, withoutExifPrefix } from '../../formats/tiff.ts';

/** ExposureTime (EXIF 2.3, 4.6.5), which cameras write and programs that draw do not. */
const EXPOSURE_TIME = 0x829a;

/** Whether a file is an original of a camera: a JPEG whose EXIF block has an exposure time. */
export function isCameraOriginal(file: Uint8Array): boolean {
  try {
    for (const { marker, start, end } of jpegHeadSegments(new ByteReader(file))) {
      if (marker === APP1_MARKER && isExposure(file.subarray(start, end))) return true;
    }
    return false;
  } catch {
    // A broken EXIF block does not prove that the file is from a camera.
    return false;
  }
}

function isExposure(block: Uint8Array): boolean {
  const directories = exifDirectories(new ByteReader(withoutExifPrefix(block)));
  return directories.some(({ entries }) => entries.some(({ tag }) => tag === EXPOSURE_TIME));
}

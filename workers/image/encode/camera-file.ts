import { Bytes } from '../../formats/bytes.ts';
import { APP1, jpegSegments, START_OF_SCAN } from '../../formats/jpeg.ts';
import { exifDirectories, withoutExifPrefix } from '../../formats/tiff.ts';

/** ExposureTime (EXIF 2.3, 4.6.5), which cameras write and programs that draw do not. */
const EXPOSURE_TIME = 0x829a;

/** Whether a file is a photograph as a camera wrote it: a JPEG whose EXIF block has an exposure time. */
export function isFromCamera(file: Uint8Array): boolean {
  try {
    for (const { marker, start, end } of jpegSegments(new Bytes(file))) {
      if (marker === START_OF_SCAN) return false;
      if (marker === APP1 && isExposure(file.subarray(start, end))) return true;
    }
    return false;
  } catch {
    // A broken structure is not evidence of a camera.
    return false;
  }
}

function isExposure(block: Uint8Array): boolean {
  const directories = exifDirectories(new Bytes(withoutExifPrefix(block)));
  return directories.some(({ entries }) => entries.some(({ tag }) => tag === EXPOSURE_TIME));
}

import { ByteReader } from '../../formats/bytes.ts';
import { JPEG_MARKERS, jpegHeadSegments } from '../../formats/jpeg.ts';
import { exifDirectories, withoutExifPrefix } from '../../formats/tiff.ts';

/** The tag ExposureTime (EXIF 2.3, 4.6.5), which cameras write and drawing programs do not. */
const EXPOSURE_TIME_TAG = 0x829a;

/** Whether a file is an original of a camera: a JPEG whose EXIF block has an exposure time. */
export function isCameraOriginal(file: Uint8Array): boolean {
  try {
    for (const { marker, start, end } of jpegHeadSegments(new ByteReader(file))) {
      if (marker === JPEG_MARKERS.app1 && hasExposureTime(file.subarray(start, end))) return true;
    }
    return false;
  } catch {
    // A broken EXIF block counts as none, because it does not prove that the file is from a camera.
    return false;
  }
}

function hasExposureTime(block: Uint8Array): boolean {
  const directories = exifDirectories(new ByteReader(withoutExifPrefix(block)));
  return directories.some(({ entries }) => entries.some(({ tag }) => tag === EXPOSURE_TIME_TAG));
}

import type { ByteReader } from '../../../../workers/formats/bytes.ts';
import {
  APP1_MARKER,
  type JpegSegment,
  jpegSegments,
  START_OF_SCAN_MARKER,
} from '../../../../workers/formats/jpeg.ts';
import { EXIF_PREFIX } from '../../../../workers/formats/tiff.ts';
import { type ImageHeader, imageHeaderOf, readExifOrientation } from './facts.ts';

/** Whether a marker starts a frame: C0 to CF, except the tables DHT, JPG and DAC. */
const isFrame = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
/** Whether a frame is progressive: the third of each group of four markers. */
const isProgressive = (marker: number) => marker % 4 === 2;

/** Walks the segments up to the first scan. */
export function readJpegHeader(bytes: ByteReader): ImageHeader | null {
  let header: ImageHeader | null = null;
  let orientation: number | undefined;
  let firstScanChannels = 0;
  for (const segment of jpegSegments(bytes)) {
    const { marker, start, end } = segment;
    if (marker === START_OF_SCAN_MARKER) {
      firstScanChannels = bytes.u8(start);
      break;
    }
    if (marker === APP1_MARKER && bytes.text(start, EXIF_PREFIX.length) === EXIF_PREFIX) {
      // The decoder reads the first block of several.
      orientation ??= readExifOrientation(bytes.slice(start, end));
    } else if (isFrame(marker) && header === null) {
      header = readFrame(bytes, segment);
    }
  }
  if (header === null) return null;
  const isMultiScan = firstScanChannels > 0 && firstScanChannels < header.channels;
  return { ...header, orientation: orientation ?? 1, progressive: header.progressive || isMultiScan };
}

/** Reads bits per sample, height, width and the number of components. */
function readFrame(bytes: ByteReader, { marker, start }: JpegSegment): ImageHeader {
  return imageHeaderOf({
    format: 'jpeg',
    width: bytes.u16(start + 3),
    height: bytes.u16(start + 1),
    bitDepth: bytes.u8(start),
    channels: bytes.u8(start + 5),
    progressive: isProgressive(marker),
  });
}

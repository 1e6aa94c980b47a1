import type { Bytes } from '../../../../workers/formats/bytes.ts';
import { APP1, type JpegSegment, jpegSegments, START_OF_SCAN } from '../../../../workers/formats/jpeg.ts';
import { EXIF_PREFIX } from '../../../../workers/formats/tiff.ts';
import { exifOrientation, type Header, headerOf } from './facts.ts';

/** Start of frame: C0 to CF without the tables DHT, JPG and DAC. */
const isFrame = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
/** The second, third and fourth of each group of four are sequential-extended, progressive, lossless. */
const isProgressive = (marker: number) => marker % 4 === 2;

/** Walks the segments up to the first scan. */
export function readJpeg(bytes: Bytes): Header | null {
  let header: Header | null = null;
  let orientation: number | undefined;
  let firstScanChannels = 0;
  for (const segment of jpegSegments(bytes)) {
    const { marker, start, end } = segment;
    if (marker === START_OF_SCAN) {
      firstScanChannels = bytes.u8(start);
      break;
    }
    if (marker === APP1 && bytes.text(start, EXIF_PREFIX.length) === EXIF_PREFIX) {
      // The decoder reads the first block of several.
      orientation ??= exifOrientation(bytes.slice(start, end));
    } else if (isFrame(marker) && header === null) {
      header = readFrame(bytes, segment);
    }
  }
  if (header === null) return null;
  const isMultiScan = firstScanChannels > 0 && firstScanChannels < header.channels;
  return { ...header, orientation: orientation ?? 1, progressive: header.progressive || isMultiScan };
}

/** Bits of a sample, height, width and components. */
function readFrame(bytes: Bytes, { marker, start }: JpegSegment): Header {
  return headerOf({
    format: 'jpeg',
    width: bytes.u16(start + 3),
    height: bytes.u16(start + 1),
    bitDepth: bytes.u8(start),
    channels: bytes.u8(start + 5),
    progressive: isProgressive(marker),
  });
}

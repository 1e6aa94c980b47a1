import type { Bytes } from './bytes.ts';
import { exifOrientation } from './exif.ts';
import type { Header } from './facts.ts';

const APP1 = 0xe1;
const START_OF_SCAN = 0xda;
const END_OF_IMAGE = 0xd9;
/** Start of frame: C0 to CF without the tables DHT, JPG and DAC. */
const isFrame = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
/** The second, third and fourth of each group of four are sequential-extended, progressive, lossless. */
const isProgressive = (marker: number) => marker % 4 === 2;
/** Markers that stand alone, without a length behind them. */
const isBare = (marker: number) => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);

/** Walks the segments up to the first scan. */
export function readJpeg(bytes: Bytes): Header | null {
  if (bytes.u16(0) !== 0xffd8) return null;
  let header: Header | null = null;
  let orientation = 1;
  let firstScanChannels = 0;
  for (let at = nextMarker(bytes, 2); at < bytes.length; ) {
    bytes.step();
    const marker = bytes.u8(at);
    if (marker === START_OF_SCAN) firstScanChannels = bytes.u8(at + 3);
    if (marker === START_OF_SCAN || marker === END_OF_IMAGE) break;
    if (isBare(marker)) {
      at = nextMarker(bytes, at + 1);
      continue;
    }
    if (at + 3 > bytes.length) break;
    const end = at + 1 + bytes.u16(at + 1);
    if (marker === APP1 && bytes.text(at + 3, 6) === 'Exif\0\0') {
      orientation = exifOrientation(bytes.from(at + 3, end));
    } else if (isFrame(marker) && header === null) {
      header = readFrame(bytes, at);
    }
    at = nextMarker(bytes, Math.max(end, at + 3));
  }
  if (header === null) return null;
  const isMultiScan = firstScanChannels > 0 && firstScanChannels < header.channels;
  return { ...header, orientation, progressive: header.progressive || isMultiScan };
}

/** Where the next marker's code is: the byte after FF that is neither FF nor 0. Garbage before it is skipped, as decoders do. */
function nextMarker(bytes: Bytes, from: number): number {
  let at = from;
  do {
    at = bytes.indexOf(0xff, at);
    while (at < bytes.length && bytes.u8(at) === 0xff) at += 1;
  } while (at < bytes.length && bytes.u8(at) === 0);
  return at;
}

function readFrame(bytes: Bytes, at: number): Header {
  const width = bytes.u16(at + 6);
  const height = bytes.u16(at + 4);
  return {
    format: 'jpeg',
    mimeType: 'image/jpeg',
    width,
    height,
    frames: 1,
    pixels: width * height,
    orientation: 1,
    bitDepth: bytes.u8(at + 3),
    channels: bytes.u8(at + 8),
    hasAlpha: false,
    progressive: isProgressive(bytes.u8(at)),
    animated: false,
  };
}

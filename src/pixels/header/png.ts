import type { Cicp } from '../../../workers/protocol.ts';
import type { Bytes } from './bytes.ts';
import { exifOrientation } from './exif.ts';
import type { Header } from './facts.ts';

const SIGNATURE = '\x89PNG\r\n\x1a\n';
/** Channels by colour type; a palette decodes to three. */
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 3, 4: 2, 6: 4 };
const PALETTE = 3;

/** IHDR comes first; transparency and EXIF are chunks after it. An animated PNG is read as its still picture. */
export function readPng(bytes: Bytes): Header | null {
  if (bytes.text(0, 8) !== SIGNATURE || bytes.text(12, 4) !== 'IHDR') return null;
  const [width, height] = [bytes.u32(16), bytes.u32(20)];
  const colourType = bytes.u8(25);
  const channels = CHANNELS[colourType];
  if (channels === undefined) return null;
  const { orientation, isKeyed, cicp } = readChunks(bytes);
  const hasAlpha = colourType === 4 || colourType === 6 || isKeyed;
  return {
    format: 'png',
    mimeType: 'image/png',
    width,
    height,
    frames: 1,
    pixels: width * height,
    orientation,
    bitDepth: colourType === PALETTE ? 8 : bytes.u8(24),
    channels: isKeyed ? channels + 1 : channels,
    hasAlpha,
    progressive: bytes.u8(28) === 1,
    animated: false,
    ...(cicp !== undefined && { cicp }),
    ...((colourType === PALETTE || bytes.u8(24) < 8) && { indexed: true }),
  };
}

function readChunks(bytes: Bytes): { orientation: number; isKeyed: boolean; cicp: Cicp | undefined } {
  let cicp: Cicp | undefined;
  let orientation = 1;
  let isKeyed = false;
  for (let at = 33; at + 8 <= bytes.length; at += 12 + bytes.u32(at)) {
    bytes.step();
    const type = bytes.text(at + 4, 4);
    if (type === 'tRNS') isKeyed = true;
    if (type === 'cICP') cicp = { primaries: bytes.u8(at + 8), transfer: bytes.u8(at + 9) };
    if (type === 'eXIf') orientation = exifOrientation(bytes.from(at + 8, at + 8 + bytes.u32(at)));
    if (type === 'IEND') break;
  }
  return { orientation, isKeyed, cicp };
}

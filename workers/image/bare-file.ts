import type { OutputFormat } from '../protocol.ts';

/**
 * Whether a file is a picture and nothing else: no metadata, profile, preview or rest after its end that a result may not
 * carry. Then its bytes can be answered as they are. What is not known to be harmless is not bare.
 */

const PNG_SIGNATURE_BYTES = 8;
const PNG_FRAME_BYTES = 12;
const PNG_CHUNKS = ['IHDR', 'PLTE', 'tRNS', 'IDAT', 'IEND', 'sBIT', 'bKGD', 'pHYs', 'gAMA', 'cHRM', 'sRGB'];
const WEBP_CHUNKS = ['VP8 ', 'VP8L', 'VP8X', 'ALPH', 'ANIM', 'ANMF'];
const GIF_APPLICATIONS = ['NETSCAPE2.0', 'ANIMEXTS1.0'];
const HEIF_BOXES = ['ftyp', 'meta', 'mdat', 'free'];
/** Items and properties that say more than how to decode the picture. */
const HEIF_WORDS = ['Exif', 'mime', 'uri ', 'thmb', 'prof', 'rICC'];
/** Tags that say how the strips or tiles of a TIFF are decoded, its resolution and its orientation. */
const TIFF_TAGS: ReadonlySet<number> = new Set([
  254, 255, 256, 257, 258, 259, 262, 266, 273, 274, 277, 278, 279, 282, 283, 284, 296, 317, 320, 322, 323,
  324, 325, 338, 339, 347, 530, 531, 532,
]);
const TIFF_ENTRY_BYTES = 12;
/** JFIF without a thumbnail. */
const JFIF_BYTES = 16;

const BARE: Record<OutputFormat, (file: Buffer) => boolean> = {
  jpeg: isBareJpeg,
  png: isBarePng,
  webp: isBareWebp,
  gif: isBareGif,
  tiff: isBareTiff,
  avif: isBareHeif,
};

/** @param format that the file is known to be of, and to decode as. */
export function isBare(input: Uint8Array, format: OutputFormat): boolean {
  try {
    return BARE[format](Buffer.from(input.buffer, input.byteOffset, input.byteLength));
  } catch (error) {
    // It is read past its end: a structure that nobody can vouch for.
    if (error instanceof RangeError) return false;
    throw error;
  }
}

function isBareJpeg(file: Buffer): boolean {
  let at = 2;
  while (file.readUInt8(at) === 0xff) {
    const marker = file.readUInt8(at + 1);
    if (marker === 0xd9) return at + 2 === file.length;
    const end = at + 2 + file.readUInt16BE(at + 2);
    if (!isPictureSegment(marker, file.subarray(at, end))) return false;
    at = marker === 0xda ? endOfScan(file, end) : end;
  }
  return false;
}

function isPictureSegment(marker: number, segment: Buffer): boolean {
  if (marker === 0xe0)
    return segment.length === JFIF_BYTES + 2 && segment.toString('latin1', 4, 8) === 'JFIF';
  if (marker === 0xee) return segment.toString('latin1', 4, 9) === 'Adobe';
  // Four components are CMYK, which is converted.
  if (marker === 0xc0 || marker === 0xc1 || marker === 0xc2) return segment.readUInt8(9) <= 3;
  return marker === 0xc4 || marker === 0xda || marker === 0xdb || marker === 0xdd;
}

/** Where the marker after a scan stands: within it, 0xff is followed by 0 or a restart. */
function endOfScan(file: Buffer, start: number): number {
  for (let at = file.indexOf(0xff, start); at !== -1; at = file.indexOf(0xff, at + 2)) {
    const next = file.readUInt8(at + 1);
    if (next !== 0 && !(next >= 0xd0 && next <= 0xd7)) return at;
  }
  return file.length;
}

function isBarePng(file: Buffer): boolean {
  for (let at = PNG_SIGNATURE_BYTES; at < file.length; ) {
    const type = file.toString('latin1', at + 4, at + 8);
    if (!PNG_CHUNKS.includes(type)) return false;
    at += PNG_FRAME_BYTES + file.readUInt32BE(at);
    if (type === 'IEND') return at === file.length;
  }
  return false;
}

function isBareWebp(file: Buffer): boolean {
  if (file.readUInt32LE(4) + 8 !== file.length) return false;
  let at = 12;
  while (at < file.length) {
    if (!WEBP_CHUNKS.includes(file.toString('latin1', at, at + 4))) return false;
    const bytes = file.readUInt32LE(at + 4);
    at += 8 + bytes + (bytes % 2);
  }
  return at === file.length;
}

function isBareGif(file: Buffer): boolean {
  let at = 13 + paletteBytes(file.readUInt8(10));
  for (;;) {
    const block = file.readUInt8(at);
    if (block === 0x3b) return at + 1 === file.length;
    if (block === 0x2c) at = endOfBlocks(file, at + 11 + paletteBytes(file.readUInt8(at + 9)));
    else if (block === 0x21 && isPlayback(file, at)) at = endOfBlocks(file, at + 2);
    else return false;
  }
}

function paletteBytes(flags: number): number {
  return flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0;
}

/** Whether an extension says how the animation plays. */
function isPlayback(file: Buffer, at: number): boolean {
  const label = file.readUInt8(at + 1);
  return (
    label === 0xf9 || (label === 0xff && GIF_APPLICATIONS.includes(file.toString('latin1', at + 3, at + 14)))
  );
}

function endOfBlocks(file: Buffer, start: number): number {
  let at = start;
  while (file.readUInt8(at) > 0) at += 1 + file.readUInt8(at);
  return at + 1;
}

function isBareTiff(file: Buffer): boolean {
  const isLittle = file.readUInt8(0) === 0x49;
  const short = (at: number) => (isLittle ? file.readUInt16LE(at) : file.readUInt16BE(at));
  const long = (at: number) => (isLittle ? file.readUInt32LE(at) : file.readUInt32BE(at));
  if (short(2) !== 42) return false;
  const directory = long(4);
  const count = short(directory);
  const tags = Array.from({ length: count }, (_, index) => short(directory + 2 + index * TIFF_ENTRY_BYTES));
  return tags.every((tag) => TIFF_TAGS.has(tag)) && long(directory + 2 + count * TIFF_ENTRY_BYTES) === 0;
}

function isBareHeif(file: Buffer): boolean {
  let at = 0;
  while (at < file.length) {
    const bytes = file.readUInt32BE(at);
    const type = file.toString('latin1', at + 4, at + 8);
    if (bytes < 8 || !HEIF_BOXES.includes(type)) return false;
    const body = file.subarray(at, at + bytes);
    if (type === 'meta' && HEIF_WORDS.some((word) => body.includes(word, 0, 'latin1'))) return false;
    at += bytes;
  }
  return at === file.length;
}

import { ByteReader } from '../../../../workers/formats/bytes.ts';
import {
  type GifBlock,
  gifBlocks,
  gifScreenSize,
  isGraphicControl,
  opaqueFramesWithHoles,
} from '../../../../workers/formats/gif.ts';
import { JPEG_MARKERS, type JpegSegment, jpegSegments } from '../../../../workers/formats/jpeg.ts';
import { type PngChunk, pngChunks, readPngColours } from '../../../../workers/formats/png.ts';
import { type RiffChunk, webpChunks } from '../../../../workers/formats/riff.ts';
import { EXIF_PREFIX } from '../../../../workers/formats/tiff.ts';
import { misreadPngColoursOf } from '../../../../workers/image/colour/misread-colours.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import { readAvifHeader } from './avif.ts';
import { type ExifFacts, type ImageHeader, imageHeaderOf, readExifFacts } from './facts.ts';
import { readSvgHeader } from './svg.ts';
import { readTiffHeader } from './tiff.ts';

/**
 * The readers of each format. A reader returns null for a file of another format. It may read past the end of the file,
 * which ends the reading with a RangeError.
 */
const HEADER_READERS: readonly ((bytes: ByteReader) => ImageHeader | null)[] = [
  readJpegHeader,
  readPngHeader,
  readWebpHeader,
  readGifHeader,
  readAvifHeader,
  readTiffHeader,
  readSvgHeader,
];

/**
 * The header of an image file, or null for a file of no known format. It never throws, and costs at most one walk over
 * the file's blocks.
 */
export function readImageHeader(file: Uint8Array): ImageHeader | null {
  const bytes = new ByteReader(file);
  for (const read of HEADER_READERS) {
    try {
      const header = read(bytes);
      if (header !== null) return hasPlausibleSize(header) ? header : null;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  return null;
}

function hasPlausibleSize(header: ImageHeader): boolean {
  if (header.format === 'svg') return true;
  return header.width > 0 && header.height > 0 && header.frames > 0;
}

/** Whether a JPEG marker is a start of frame (SOF): C0 to CF, except DHT, JPG and DAC. */
const isFrameMarker = (marker: number) =>
  marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
/**
 * The SOF markers that the decoder supports: baseline, extended and progressive, the last two also with arithmetic
 * coding.
 */
const DECODABLE_FRAME_MARKERS: readonly number[] = [0xc0, 0xc1, 0xc2, 0xc9, 0xca];
/** Whether an SOF marker begins a lossless frame: SOF3, SOF7, SOF11 and SOF15 do. */
const isLosslessMarker = (marker: number) => marker % 4 === 3;
/** Whether an SOF marker begins a progressive frame: SOF2, SOF6, SOF10 and SOF14 do. */
const isProgressiveMarker = (marker: number) => marker % 4 === 2;

function hasExifPrefix(bytes: ByteReader, at: number): boolean {
  return bytes.text(at, EXIF_PREFIX.length) === EXIF_PREFIX;
}

/** Reads the header of a JPEG from its segments up to the first scan. */
function readJpegHeader(bytes: ByteReader): ImageHeader | null {
  let header: ImageHeader | null = null;
  let exif: ExifFacts | undefined;
  let firstScanChannels = 0;
  for (const segment of jpegSegments(bytes)) {
    const { marker, start, end } = segment;
    if (marker === JPEG_MARKERS.startOfScan) {
      firstScanChannels = bytes.u8(start);
      break;
    }
    if (marker === JPEG_MARKERS.app1 && hasExifPrefix(bytes, start)) {
      // The decoder reads only the first EXIF block.
      exif ??= readExifFacts(bytes.slice(start, end));
    } else if (isFrameMarker(marker) && header === null) {
      header = readJpegFrame(bytes, segment);
    }
  }
  if (header === null) return null;
  const isMultiScan = firstScanChannels > 0 && firstScanChannels < header.channels;
  return { ...header, ...exif, progressive: header.progressive || isMultiScan };
}

/** Reads a frame header: bits per sample, height, width and the number of components. */
function readJpegFrame(bytes: ByteReader, { marker, start }: JpegSegment): ImageHeader {
  return imageHeaderOf({
    format: 'jpeg',
    width: bytes.u16(start + 3),
    height: bytes.u16(start + 1),
    bitDepth: bytes.u8(start),
    channels: bytes.u8(start + 5),
    progressive: isProgressiveMarker(marker),
    ...withoutAbsentFields({ unreadableReason: unsupportedJpegSentence(marker, bytes.u8(start)) }),
  });
}

/** A sentence that says why a JPEG cannot be read, and what to send instead; undefined for a readable one. */
function unsupportedJpegSentence(marker: number, bits: number): string | undefined {
  const kind = isLosslessMarker(marker) ? 'lossless' : 'hierarchical';
  const reason = DECODABLE_FRAME_MARKERS.includes(marker)
    ? bits !== 8 && `has ${bits} bits per sample`
    : `is ${kind}`;
  return reason
    ? `This JPEG ${reason}, which is not supported: save it with 8 bits per sample, or as PNG.`
    : undefined;
}

/** The number of channels by colour type. A palette decodes to three. */
const CHANNELS_BY_COLOUR_TYPE: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 3, 4: 2, 6: 4 };
const PALETTE_COLOUR_TYPE = 3;

/**
 * Reads the header of a PNG: IHDR comes first, transparency, EXIF and the frames of an animation are later chunks. An
 * animated PNG is read as its still picture.
 */
function readPngHeader(bytes: ByteReader): ImageHeader | null {
  const [head, ...others] = pngChunks(bytes);
  if (head?.type !== 'IHDR') return null;
  const { start } = head;
  const [bitDepth, colourType] = [bytes.u8(start + 8), bytes.u8(start + 9)];
  const channels = CHANNELS_BY_COLOUR_TYPE[colourType];
  if (channels === undefined) return null;
  const isPalette = colourType === PALETTE_COLOUR_TYPE;
  const { exif, isKeyed, unreadFrames } = readAncillaryChunks(bytes, others);
  return imageHeaderOf({
    format: 'png',
    width: bytes.u32(start),
    height: bytes.u32(start + 4),
    ...exif,
    bitDepth: isPalette ? 8 : bitDepth,
    channels: isKeyed ? channels + 1 : channels,
    hasAlpha: colourType === 4 || colourType === 6 || isKeyed,
    progressive: bytes.u8(start + 12) === 1,
    ...((isPalette || bitDepth < 8) && { indexed: true }),
    ...(unreadFrames > 0 && { unreadFrames }),
    ...(hasMisreadColours(bytes) && { mustBeRewritten: true }),
  });
}

function hasMisreadColours(bytes: ByteReader): boolean {
  const colours = readPngColours(bytes);
  return colours !== undefined && misreadPngColoursOf(colours, false) !== undefined;
}

function readAncillaryChunks(bytes: ByteReader, chunks: readonly PngChunk[]) {
  let exif: Partial<ExifFacts> | undefined;
  let isKeyed = false;
  let isAnimated = false;
  let hasPixels = false;
  /** The frames of an animation beside the still picture, which may be the first of them. */
  let unreadFrames = 0;
  for (const { type, start, end } of chunks) {
    hasPixels ||= type === 'IDAT';
    isAnimated ||= type === 'acTL' && !hasPixels;
    if (type === 'fcTL' && isAnimated && hasPixels) unreadFrames += 1;
    if (type === 'tRNS') isKeyed = true;
    // Only the first eXIf chunk is used, as in workers/image/metadata/png.ts. A chunk that begins with the Exif prefix
    // of a JPEG is invalid. Decoders ignore it.
    if (type === 'eXIf') exif ??= hasExifPrefix(bytes, start) ? {} : readExifFacts(bytes.slice(start, end));
  }
  return { exif, isKeyed, unreadFrames };
}

const WEBP_ALPHA_FLAG = 0x10;
const WEBP_ANIMATION_FLAG = 0x02;
const WEBP_EXIF_FLAG = 0x08;
/** Offset of the display time in milliseconds, in the chunk of a frame. */
const WEBP_DURATION_OFFSET = 12;

interface WebpCanvas {
  width: number;
  height: number;
  hasAlpha: boolean;
  animated: boolean;
  hasExif: boolean;
}

/**
 * Reads the header of a WebP. The first chunk has the canvas. In the extended form, frames and EXIF are later chunks.
 */
function readWebpHeader(bytes: ByteReader): ImageHeader | null {
  const chunks = [...webpChunks(bytes)];
  const canvas = readWebpCanvas(bytes, chunks[0]);
  if (canvas === null) return null;
  const pictures = canvas.animated ? chunks.filter(({ type }) => type === 'ANMF') : [];
  const { hasExif, ...facts } = canvas;
  // The decoder reads only the first EXIF chunk, and none if the flag is not set.
  const exif = hasExif ? chunks.find(({ type }) => type === 'EXIF') : undefined;
  return imageHeaderOf({
    format: 'webp',
    ...facts,
    frames: canvas.animated ? pictures.length : 1,
    ...(pictures.length > 1 && { delays: pictures.map((picture) => readWebpDurationMs(bytes, picture)) }),
    ...(exif !== undefined && readExifFacts(bytes.slice(exif.start, exif.end))),
    channels: canvas.hasAlpha ? 4 : 3,
  });
}

/** The display time of a frame; 0 when its chunk ends before it. */
function readWebpDurationMs(bytes: ByteReader, { start, end }: RiffChunk): number {
  const at = start + WEBP_DURATION_OFFSET;
  return at + 3 <= Math.min(end, bytes.length) ? bytes.u24(at, true) : 0;
}

function readWebpCanvas(bytes: ByteReader, chunk: RiffChunk | undefined): WebpCanvas | null {
  if (chunk === undefined) return null;
  const { type, start: data } = chunk;
  switch (type) {
    case 'VP8 ': {
      if (bytes.u24(data + 3) !== 0x9d012a) return null;
      const [width, height] = [bytes.u16(data + 6, true) & 0x3fff, bytes.u16(data + 8, true) & 0x3fff];
      return { width, height, hasAlpha: false, animated: false, hasExif: false };
    }
    case 'VP8L': {
      if (bytes.u8(data) !== 0x2f) return null;
      const bits = bytes.u32(data + 1, true);
      const [width, height] = [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
      return { width, height, hasAlpha: ((bits >>> 28) & 1) === 1, animated: false, hasExif: false };
    }
    case 'VP8X': {
      const flags = bytes.u8(data);
      const [width, height] = [bytes.u24(data + 4, true) + 1, bytes.u24(data + 7, true) + 1];
      return {
        width,
        height,
        hasAlpha: (flags & WEBP_ALPHA_FLAG) !== 0,
        animated: (flags & WEBP_ANIMATION_FLAG) !== 0,
        hasExif: (flags & WEBP_EXIF_FLAG) !== 0,
      };
    }
    default:
      return null;
  }
}

/** The transparency bit in the flags of a graphic control, which follow the length of its sub-block. */
const GIF_TRANSPARENCY_FLAG = 0x01;
/** Offset of the delay of the next image in a graphic control, in hundredths of a second. */
const GIF_DELAY_OFFSET = 2;
/** The interlace bit in the flags of an image. */
const GIF_INTERLACED_FLAG = 0x40;
/** Reads the header of a GIF by walking its blocks. A frame counts when its data ends inside the file. */
function readGifHeader(bytes: ByteReader): ImageHeader | null {
  let frames = 0;
  /** The right and the bottom edge of the first frame on the screen of the GIF. */
  let [right, bottom] = [0, 0];
  let hasAlpha = false;
  const delays: number[] = [];
  let delayMs = 0;
  let progressive = false;
  let endsInFrame = false;
  for (const block of gifBlocks(bytes)) {
    const { kind, at, truncated } = block;
    hasAlpha ||= hasTransparencyFlag(bytes, block);
    if (isGraphicControl(block)) delayMs = readGifDelayMs(bytes, block);
    if (kind === 'image') endsInFrame = truncated;
    if (kind !== 'image' || truncated) continue;
    // The image descriptor holds position, size and flags.
    frames += 1;
    delays.push(delayMs);
    delayMs = 0;
    progressive ||= (bytes.u8(at + 9) & GIF_INTERLACED_FLAG) !== 0;
    if (frames > 1) continue;
    right = bytes.u16(at + 1, true) + bytes.u16(at + 5, true);
    bottom = bytes.u16(at + 3, true) + bytes.u16(at + 7, true);
  }
  if (frames === 0) return null;
  hasAlpha ||= opaqueFramesWithHoles(bytes).length > 0;
  const screen = gifScreenSize(bytes);
  return imageHeaderOf({
    format: 'gif',
    width: Math.max(screen.width, right),
    height: Math.max(screen.height, bottom),
    frames,
    channels: hasAlpha ? 4 : 3,
    hasAlpha,
    progressive,
    animated: frames > 1,
    ...(frames > 1 && { delays }),
    // The decoder would accept the incomplete frame as complete.
    ...(endsInFrame && { unreadableReason: 'The image ends inside a frame; send the whole file.' }),
  });
}

/** The delay in a graphic control; 0 when the block ends before it. */
function readGifDelayMs(bytes: ByteReader, { start, end }: GifBlock): number {
  const at = start + GIF_DELAY_OFFSET;
  return at + 2 <= Math.min(end, bytes.length) ? bytes.u16(at, true) * 10 : 0;
}

function hasTransparencyFlag(bytes: ByteReader, block: GifBlock): boolean {
  return (
    isGraphicControl(block) &&
    block.start + 2 <= block.end &&
    (bytes.u8(block.start + 1) & GIF_TRANSPARENCY_FLAG) !== 0
  );
}

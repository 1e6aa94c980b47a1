import { isoBoxes } from '../../formats/boxes.ts';
import { ByteReader } from '../../formats/bytes.ts';
import { applicationOf, type GifBlock, gifBlocks, isGraphicControl } from '../../formats/gif.ts';
import { JPEG_MARKER_BYTES, JPEG_MARKERS, type JpegSegment, jpegSegments } from '../../formats/jpeg.ts';
import type { ContainerPart } from '../../formats/parts.ts';
import { pngChunks } from '../../formats/png.ts';
import { webpChunks } from '../../formats/riff.ts';
import { tiffPageDirectories } from '../../formats/tiff.ts';
import type { OutputFormat } from '../../protocol.ts';

/**
 * Whether a file is a picture and nothing else: it has no metadata, profile, preview or trailing bytes that a result
 * may not carry. Such a file is bare, and can be returned unchanged. A file with an unknown part is not bare.
 */

const BARE_PNG_CHUNKS = [
  'IHDR',
  'PLTE',
  'tRNS',
  'IDAT',
  'IEND',
  'sBIT',
  'bKGD',
  'pHYs',
  'gAMA',
  'cHRM',
  'sRGB',
];
const BARE_WEBP_CHUNKS = ['VP8 ', 'VP8L', 'VP8X', 'ALPH', 'ANIM', 'ANMF'];
const PLAYBACK_APPLICATIONS = ['NETSCAPE2.0', 'ANIMEXTS1.0'];
const BARE_HEIF_BOXES = ['ftyp', 'meta', 'mdat', 'free'];
/** Types of items and properties that hold more than is needed to decode the picture. */
const EXTRA_HEIF_TYPES = ['Exif', 'mime', 'uri ', 'thmb', 'prof', 'rICC'];
/** The tags of a bare TIFF: how its strips or tiles are decoded, its resolution and its orientation. */
const BARE_TIFF_TAGS: ReadonlySet<number> = new Set([
  254, 255, 256, 257, 258, 259, 262, 266, 273, 274, 277, 278, 279, 282, 283, 284, 296, 317, 320, 322, 323,
  324, 325, 338, 339, 347, 530, 531, 532,
]);
/** The bytes of a JFIF segment without a thumbnail. */
const BARE_JFIF_BYTES = 14;
/** The APP14 segment, which describes how colours are stored. */
const ADOBE_MARKER = 0xee;
/** Markers of baseline, extended and progressive frames. */
const JPEG_FRAME_MARKERS = [0xc0, 0xc1, 0xc2];
const COMPONENT_COUNT_OFFSET = 5;
/** The most components of a JPEG that is bare. One with four components is CMYK, which is converted. */
const MAX_BARE_COMPONENTS = 3;
/** Markers of Huffman tables, scans, quantization tables, restart intervals and the end. */
const JPEG_PICTURE_MARKERS = [0xc4, JPEG_MARKERS.startOfScan, 0xdb, 0xdd, JPEG_MARKERS.endOfImage];

const BARE_CHECK_BY_FORMAT: Record<OutputFormat, (file: Buffer) => boolean> = {
  jpeg: isBareJpeg,
  png: isBarePng,
  webp: isBareWebp,
  gif: isBareGif,
  tiff: isBareTiff,
  avif: isBareHeif,
};

export function isBareFile(input: Uint8Array, format: OutputFormat): boolean {
  try {
    return BARE_CHECK_BY_FORMAT[format](Buffer.from(input.buffer, input.byteOffset, input.byteLength));
  } catch (error) {
    // A read past the end of the file means that its structure cannot be trusted.
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** Whether a JPEG holds a picture and nothing else. Only the data of a scan may lie between two of its segments. */
function isBareJpeg(file: Buffer): boolean {
  const segments = [...jpegSegments(new ByteReader(file))];
  const isWhole = endsWithFile(file, segments) && segments.at(-1)?.marker === JPEG_MARKERS.endOfImage;
  return (
    isWhole &&
    segments.every((segment, index) => {
      const before = segments[index - 1];
      const isBehind =
        segment.at === (before?.next ?? JPEG_MARKER_BYTES) || before?.marker === JPEG_MARKERS.startOfScan;
      return isBehind && isPictureSegment(segment, file.subarray(segment.start, segment.end));
    })
  );
}

function isPictureSegment({ marker }: JpegSegment, content: Buffer): boolean {
  if (marker === JPEG_MARKERS.app0)
    return content.length === BARE_JFIF_BYTES && content.toString('latin1', 0, 4) === 'JFIF';
  if (marker === ADOBE_MARKER) return content.toString('latin1', 0, 5) === 'Adobe';
  if (JPEG_FRAME_MARKERS.includes(marker))
    return content.readUInt8(COMPONENT_COUNT_OFFSET) <= MAX_BARE_COMPONENTS;
  return JPEG_PICTURE_MARKERS.includes(marker);
}

function isBarePng(file: Buffer): boolean {
  const chunks = [...pngChunks(new ByteReader(file))];
  const isWhole = endsWithFile(file, chunks) && chunks.at(-1)?.type === 'IEND';
  return isWhole && chunks.every(({ type }) => BARE_PNG_CHUNKS.includes(type));
}

function isBareWebp(file: Buffer): boolean {
  if (file.readUInt32LE(4) + 8 !== file.length) return false;
  const chunks = [...webpChunks(new ByteReader(file))];
  return endsWithFile(file, chunks) && chunks.every(({ type }) => BARE_WEBP_CHUNKS.includes(type));
}

function isBareGif(file: Buffer): boolean {
  const bytes = new ByteReader(file);
  const blocks = [...gifBlocks(bytes)];
  const isWhole = endsWithFile(file, blocks) && blocks.at(-1)?.kind === 'trailer';
  // Extensions that only control how the animation plays.
  const isPlayback = (block: GifBlock) =>
    isGraphicControl(block) || PLAYBACK_APPLICATIONS.includes(applicationOf(bytes, block) ?? '');
  return isWhole && blocks.every((block) => block.kind !== 'extension' || isPlayback(block));
}

/** Whether a TIFF has one page with known tags only. */
function isBareTiff(file: Buffer): boolean {
  const [first] = tiffPageDirectories(new ByteReader(file));
  if (first === undefined || first.isBig || first.truncated) return false;
  const isOnlyPage = first.nextAt !== undefined && first.next === 0;
  return isOnlyPage && first.entries.every(({ tag }) => BARE_TIFF_TAGS.has(tag));
}

function isBareHeif(file: Buffer): boolean {
  const boxes = [...isoBoxes(new ByteReader(file))];
  if (!endsWithFile(file, boxes) || !boxes.every(({ type }) => BARE_HEIF_BOXES.includes(type))) return false;
  return boxes.every(({ type, start, end }) => {
    const meta = file.subarray(start, end);
    return type !== 'meta' || !EXTRA_HEIF_TYPES.some((name) => meta.includes(name, 0, 'latin1'));
  });
}

/** Whether the last part is complete and ends at the end of the file. */
function endsWithFile(file: Buffer, parts: readonly ContainerPart[]): boolean {
  const last = parts.at(-1);
  return last?.next === file.length && !last.truncated;
}

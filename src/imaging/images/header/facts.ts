import { ByteReader } from '../../../../workers/formats/bytes.ts';
import {
  exifDirectories,
  firstEntryValue,
  hasTooManyExifPointers,
  withoutExifPrefix,
} from '../../../../workers/formats/tiff.ts';
import type { HeaderDecodeHints, InputHeader } from '../../../../workers/protocol.ts';

const ORIENTATION_TAG = 0x0112;

/** The facts that the header of a file gives, without decoding a pixel. */
export interface ImageHeader {
  format: 'jpeg' | 'png' | 'webp' | 'gif' | 'avif' | 'heif' | 'tiff' | 'svg';
  mimeType: string;
  /**
   * The stored width in pixels: that of the canvas of an animation, or of the first page of a document. 0 when a
   * drawing has no size.
   */
  width: number;
  height: number;
  /** The number of frames of an animation, or of pages of a document, that can be read; 1 for a still picture. */
  frames: number;
  /** The number of frames of an animated PNG or an AVIF sequence, which is read as its still picture. */
  unreadFrames?: number;
  /** Pixels of all frames together. */
  pixels: number;
  /** The EXIF orientation, 1 to 8; 1 when absent. */
  orientation: number;
  bitDepth: number;
  channels: number;
  hasAlpha: boolean;
  /**
   * Whether the picture is interlaced or progressive: a decoder needs the whole picture before it has the first line.
   */
  progressive: boolean;
  animated: boolean;
  /** Display time of each frame of an animation, in milliseconds; absent where it was not read. */
  delays?: number[];
  /** Whether the pixels are indexes into a palette, or have fewer than 8 bits of grey. */
  indexed?: true;
  /** A sentence that says why the service does not read the pixels, and what to send instead. */
  unreadableReason?: string;
  /** Whether the worker must rewrite the pixels before it can read them. */
  mustBeRewritten?: true;
}

type KnownHeaderFacts = Pick<ImageHeader, 'format' | 'width' | 'height' | 'channels'> & Partial<ImageHeader>;

/** A header with the given facts. All other facts are those of one upright, opaque picture with 8 bits per channel. */
export function imageHeaderOf(facts: KnownHeaderFacts): ImageHeader {
  const { format, width, height, frames = 1 } = facts;
  return {
    mimeType: `image/${format}`,
    frames,
    pixels: width * height * frames,
    orientation: 1,
    bitDepth: 8,
    hasAlpha: false,
    progressive: false,
    animated: false,
    ...facts,
  };
}

/** The most bytes of an EXIF block that decoders read. */
const MAX_EXIF_BYTES = 64 * 1024;
const TOO_MANY_EXIF_POINTERS_MESSAGE =
  'The EXIF of this image has more pointers to directories than a camera writes, and takes too long to read: send the image without its EXIF.';

/** What the header of an image takes from its EXIF. */
export type ExifFacts = Pick<ImageHeader, 'orientation' | 'unreadableReason'>;

/**
 * The orientation in an EXIF block, which is 1 by default, and why the image is not read. The block is a TIFF
 * structure, with or without the "Exif" prefix.
 */
export function readExifFacts(block: Uint8Array): ExifFacts {
  const bytes = new ByteReader(withoutExifPrefix(block.subarray(0, MAX_EXIF_BYTES)));
  const [directory] = exifDirectories(bytes);
  const entry = directory?.entries.find(({ tag }) => tag === ORIENTATION_TAG);
  const stored = directory && entry && firstEntryValue(bytes, directory, entry);
  return {
    orientation: orientationOrDefault(stored ?? 1),
    ...(hasTooManyExifPointers(bytes) && { unreadableReason: TOO_MANY_EXIF_POINTERS_MESSAGE }),
  };
}

/** A valid orientation, 1 to 8. Any other value becomes 1, because decoders ignore it. */
export function orientationOrDefault(value: number): number {
  return value >= 1 && value <= 8 ? value : 1;
}

/** The facts that the codec would report wrongly, as hints for the decoder. */
export function decodeHintsOf({ format, frames, unreadFrames }: ImageHeader): HeaderDecodeHints {
  return {
    ...(format === 'avif' && { pictures: frames }),
    ...(unreadFrames !== undefined && { unreadFrames }),
  };
}

/**
 * The facts of a still picture that are sent with its task, so that the image thread need not read the header again.
 */
export function inputHeaderHintOf(header: ImageHeader): { header?: InputHeader } {
  const {
    format,
    width,
    height,
    orientation,
    hasAlpha,
    channels,
    bitDepth,
    animated,
    indexed = false,
  } = header;
  if (animated || (format !== 'jpeg' && format !== 'png' && format !== 'webp')) return {};
  const isGrey = channels - Number(hasAlpha) === 1;
  return { header: { format, width, height, orientation, hasAlpha, isGrey, isIndexed: indexed, bitDepth } };
}

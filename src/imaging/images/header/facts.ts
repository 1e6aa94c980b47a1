import { Bytes } from '../../../../workers/formats/bytes.ts';
import { exifDirectories, firstNumber, SHORT, withoutExifPrefix } from '../../../../workers/formats/tiff.ts';

const ORIENTATION_TAG = 0x0112;

/** The header of a file, read without decoding a pixel. */
export interface Header {
  format: 'jpeg' | 'png' | 'webp' | 'gif' | 'avif' | 'heif' | 'tiff' | 'svg';
  mimeType: string;
  /** As stored, of the canvas or of the first page. 0 when a drawing has no size. */
  width: number;
  height: number;
  /** Frames of an animation or pages of a document. */
  frames: number;
  /** Pixels of all frames together. */
  pixels: number;
  /** EXIF value, 1 to 8; 1 when absent. */
  orientation: number;
  bitDepth: number;
  channels: number;
  hasAlpha: boolean;
  /** Interlaced or progressive: a decoder needs the whole picture before it has the first line of it. */
  progressive: boolean;
  animated: boolean;
  /** Display time of each frame of an animation, in milliseconds; absent where it was not read. */
  delays?: number[];
  /** Its pixels are indexes into a palette, or have fewer than 8 bits of grey. */
  indexed?: true;
  /** Why no pixel of the file is read, and what to send instead, as a sentence. */
  unread?: string;
  /** The worker writes its pixels again before it reads them. */
  rewritten?: true;
}

type KnownFacts = Pick<Header, 'format' | 'width' | 'height' | 'channels'> & Partial<Header>;

/** A header with these facts; in all others it is that of one upright, opaque picture of 8 bits a channel. */
export function headerOf(facts: KnownFacts): Header {
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

/** The orientation of an EXIF block (a TIFF structure, with or without the "Exif" prefix), or 1 when it has none. */
export function exifOrientation(block: Uint8Array): number {
  const bytes = new Bytes(withoutExifPrefix(block));
  const [directory] = exifDirectories(bytes);
  const entry = directory?.entries.find(({ tag }) => tag === ORIENTATION_TAG);
  if (directory === undefined || entry?.type !== SHORT) return 1;
  return validOrientation(firstNumber(bytes, directory, entry) ?? 1);
}

/** A decoder ignores a value that is not an orientation. */
export function validOrientation(value: number): number {
  return value >= 1 && value <= 8 ? value : 1;
}

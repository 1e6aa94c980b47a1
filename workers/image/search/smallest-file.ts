import type { EncodeOptions, OutputFormat } from '../../protocol.ts';
import type { PictureShape } from '../pixels/geometry.ts';
import { invalidParamRefusal } from '../refusal.ts';

/** The minimum content of a file in a format, which even a picture of one colour needs. */
interface MinimumEncodedSize {
  /** The bytes of headers and tables, which do not depend on the size of the picture. */
  headerBytes: number;
  /** The bits for each square with the side `squarePx`, even in a picture of one colour. */
  bitsPerSquare: number;
  squarePx: number;
}

/** The minimum of a file with JPEG data: each block has the Huffman code of its mean, at least one bit. */
const JPEG_MINIMUM: MinimumEncodedSize = { headerBytes: 100, bitsPerSquare: 1, squarePx: 8 };
/** The minimum of a file whose length, for a picture of one colour, hardly depends on the size of the picture. */
const headersOnlyMinimum = (headerBytes: number): MinimumEncodedSize => ({
  headerBytes,
  bitsPerSquare: 0,
  squarePx: 1,
});

/** The minimum of each format. Each value is below what the format needs, so that no reachable target is refused. */
const MIN_ENCODED_SIZE_BY_FORMAT: Record<OutputFormat, MinimumEncodedSize> = {
  jpeg: JPEG_MINIMUM,
  tiff: JPEG_MINIMUM,
  // With two bits, deflate repeats up to 258 bytes. With one bit per pixel, a byte holds eight pixels, so each bit of
  // the file can encode 258 × 8 / 2 pixels.
  png: { headerBytes: 57, bitsPerSquare: 1 / 1032, squarePx: 1 },
  // A 12-bit code represents fewer than 4,096 pixels.
  gif: { headerBytes: 27, bitsPerSquare: 12 / 4096, squarePx: 1 },
  // The modes of a macroblock have fixed probabilities. Even the likeliest modes take more than 3 bits.
  webp: { headerBytes: 30, bitsPerSquare: 3, squarePx: 16 },
  avif: headersOnlyMinimum(200),
};

/**
 * @throws PassRefusal invalid_param on `maxBytes` if even a picture of one colour needs more bytes in that format and
 *   size.
 */
export function assertByteLimitReachable(
  maxBytes: number,
  encode: EncodeOptions & { format: OutputFormat },
  shape: PictureShape,
): void {
  const leastBytes = smallestFileBytes(encode, shape);
  if (maxBytes >= leastBytes) return;
  const { format } = encode;
  const size = `${shape.width} × ${shape.height}`;
  const message = `maxBytes is ${maxBytes}, but a ${format} of ${size} pixels has at least ${leastBytes} bytes, whatever it shows: allow more, or make the picture smaller.`;
  throw invalidParamRefusal('maxBytes', message, { limit: leastBytes });
}

/** A lower bound, in bytes, of every file of that format and size. */
function smallestFileBytes(
  { format, lossless }: EncodeOptions & { format: OutputFormat },
  shape: PictureShape,
): number {
  const { headerBytes, bitsPerSquare, squarePx } = MIN_ENCODED_SIZE_BY_FORMAT[format];
  // A lossless WebP of one colour takes no bits per pixel, and an animation may hold only parts of its frames.
  if (shape.frames > 1 || (lossless && format === 'webp')) return headerBytes;
  const squares = Math.ceil(shape.width / squarePx) * Math.ceil(shape.height / squarePx);
  return headerBytes + Math.ceil((squares * bitsPerSquare) / 8);
}

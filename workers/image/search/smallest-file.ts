import type { Encode, OutputFormat } from '../../protocol.ts';
import type { Shape } from '../pixels/geometry.ts';
import { invalidArgument } from '../refusal.ts';

/** The least that a file of a format contains, as for a picture of one colour. */
interface Least {
  /** Bytes of the headers and tables. */
  headerBytes: number;
  /** Bits of each square of `squarePx` along an edge, even if the picture has one colour. */
  bits: number;
  squarePx: number;
}

/** The least of a file with JPEG data. A Huffman code has at least one bit, and each block has the code of its mean. */
const JPEG: Least = { headerBytes: 100, bits: 1, squarePx: 8 };
/** The least of a file whose length for a picture of one colour hardly depends on the size of the picture. */
const headersOnly = (headerBytes: number): Least => ({ headerBytes, bits: 0, squarePx: 1 });

/** Each value is below what the format needs, so that no target is refused that an encoder may reach. */
const MIN_FILE: Record<OutputFormat, Least> = {
  jpeg: JPEG,
  tiff: JPEG,
  // Deflate repeats 258 bytes by two bits, and a byte holds eight pixels of two colours.
  png: { headerBytes: 57, bits: 1 / 1032, squarePx: 1 },
  // A code of 12 bits stands for fewer than 4,096 pixels.
  gif: { headerBytes: 27, bits: 12 / 4096, squarePx: 1 },
  // The modes of a macroblock have fixed probabilities, by which the likeliest ones take more than 3 bits.
  webp: { headerBytes: 30, bits: 3, squarePx: 16 },
  avif: headersOnly(200),
};

/**
 * @throws Refusal invalid_param on `maxBytes` if even a picture of one colour needs more bytes in that format and size.
 */
export function assertReachable(
  maxBytes: number,
  encode: Encode & { format: OutputFormat },
  shape: Shape,
): void {
  const leastBytes = smallestFileBytes(encode, shape);
  if (maxBytes >= leastBytes) return;
  const { format } = encode;
  const size = `${shape.width} × ${shape.height}`;
  const message = `maxBytes is ${maxBytes}, but a ${format} of ${size} pixels has at least ${leastBytes} bytes, whatever it shows: allow more, or make the picture smaller.`;
  throw invalidArgument('maxBytes', message, { limit: leastBytes });
}

/** A number of bytes that every file of that format and size exceeds or equals. */
function smallestFileBytes({ format, lossless }: Encode & { format: OutputFormat }, shape: Shape): number {
  const { headerBytes, bits, squarePx } = MIN_FILE[format];
  // A lossless WebP of one colour takes no bits per pixel, and an animation may hold only a part of its frames.
  if (shape.frames > 1 || (lossless && format === 'webp')) return headerBytes;
  const squares = Math.ceil(shape.width / squarePx) * Math.ceil(shape.height / squarePx);
  return headerBytes + Math.ceil((squares * bits) / 8);
}

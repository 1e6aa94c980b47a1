import { ByteReader } from '../../formats/bytes.ts';
import { webpChunks } from '../../formats/riff.ts';

const ALPHA_FLAG = 0x10;

/**
 * Declares an animated WebP as transparent, in place. The encoder makes parts of the canvas empty by clearing frames,
 * and declares transparency only if the pixels of a frame are transparent too. Decoders show the empty parts of a file
 * that is not declared as black.
 */
export function declareWebpAlpha(webp: Uint8Array<ArrayBuffer>): void {
  const [first] = webpChunks(new ByteReader(webp));
  if (first?.type === 'VP8X') webp[first.start] = (webp[first.start] ?? 0) | ALPHA_FLAG;
}

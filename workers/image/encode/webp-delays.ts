import { Bytes } from '../../formats/bytes.ts';
import { riffChunks } from '../../formats/riff.ts';

/** What libvips takes a delay for that is this short, as old browsers did. */
const SHORT_MS = 10;
const SLOWED_MS = 100;
/** Where the content of a frame's chunk says for how long it is shown, and in how many bytes. */
const DURATION_AT = 12;
const DURATION_BYTES = 3;

/**
 * Gives the frames of a written WebP, in place, the delays that its pictures had: libvips slows down those of up to 10 ms. Neighbours
 * that look the same have become one frame, so frames are matched by the time at which they end.
 */
export function restoreDelays(webp: Uint8Array<ArrayBuffer>, delaysMs: readonly number[]): void {
  if (delaysMs.every((delayMs) => delayMs > SHORT_MS)) return;
  const file = Buffer.from(webp.buffer, webp.byteOffset, webp.byteLength);
  let picture = 0;
  for (const { type, start, end } of riffChunks(new Bytes(file), 'WEBP')) {
    const at = start + DURATION_AT;
    if (type !== 'ANMF' || at + DURATION_BYTES > end) continue;
    let leftMs = file.readUIntLE(at, DURATION_BYTES);
    let durationMs = 0;
    for (; picture < delaysMs.length && leftMs > 0; picture++) {
      const delayMs = delaysMs[picture] as number;
      leftMs -= delayMs <= SHORT_MS ? SLOWED_MS : delayMs;
      durationMs += delayMs;
    }
    file.writeUIntLE(durationMs, at, DURATION_BYTES);
  }
}

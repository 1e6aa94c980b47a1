/** What libvips takes a delay for that is this short, as old browsers did. */
const SHORT_MS = 10;
const SLOWED_MS = 100;
const RIFF_HEAD_BYTES = 12;
/** Where a frame's chunk says for how long it is shown, in 24 bits. */
const DURATION_AT = 8 + 12;

/**
 * Gives the frames of a written WebP, in place, the delays that its pictures had: libvips slows down those of up to 10 ms. Neighbours
 * that look the same have become one frame, so frames are matched by the time at which they end.
 */
export function restoreDelays(webp: Uint8Array<ArrayBuffer>, delaysMs: readonly number[]): void {
  if (delaysMs.every((delayMs) => delayMs > SHORT_MS)) return;
  const file = Buffer.from(webp.buffer, webp.byteOffset, webp.byteLength);
  let picture = 0;
  for (let at = RIFF_HEAD_BYTES; at + DURATION_AT + 3 <= file.length; ) {
    if (file.toString('latin1', at, at + 4) === 'ANMF') {
      let leftMs = file.readUIntLE(at + DURATION_AT, 3);
      let durationMs = 0;
      for (; picture < delaysMs.length && leftMs > 0; picture++) {
        const delayMs = delaysMs[picture] as number;
        leftMs -= delayMs <= SHORT_MS ? SLOWED_MS : delayMs;
        durationMs += delayMs;
      }
      file.writeUIntLE(durationMs, at + DURATION_AT, 3);
    }
    const sizeBytes = file.readUInt32LE(at + 4);
    at += 8 + sizeBytes + (sizeBytes % 2);
  }
}

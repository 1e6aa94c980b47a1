import { ByteReader } from '../../formats/bytes.ts';
import { gifBlocks, isGraphicControl } from '../../formats/gif.ts';
import { webpChunks } from '../../formats/riff.ts';

/** A frame whose delay is at most this long is shown for SHORT_DELAY_REPLACEMENT_MS by players and by libvips. */
const MAX_SLOWED_DELAY_MS = 10;
const SHORT_DELAY_REPLACEMENT_MS = 100;
/** The offset and the length of the duration in the content of a WebP's ANMF chunk. */
const WEBP_DURATION_OFFSET = 12;
const WEBP_DURATION_BYTES = 3;

/** The longest delay that sharp accepts, in milliseconds. */
export const MAX_SHARP_DELAY_MS = 65_535;
/** The offset of the delay in a graphic control of a GIF, in hundredths of a second. */
const GIF_DELAY_OFFSET = 2;
const MAX_GIF_DELAY_CENTISECONDS = 0xffff;

/** The milliseconds for which players show a frame with this delay in its file. */
export function playedDelayMs(delayMs = SHORT_DELAY_REPLACEMENT_MS): number {
  return delayMs <= MAX_SLOWED_DELAY_MS ? SHORT_DELAY_REPLACEMENT_MS : delayMs;
}

/**
 * Restores the original delays in the frames of an encoded animation, in place.
 * @param wereSent whether the encoder was given the delays as an option, which sharp limits to MAX_SHARP_DELAY_MS. If
 * not, the encoder has copied them from the file.
 */
export function restoreDelays(
  file: Uint8Array<ArrayBuffer>,
  format: string,
  delaysMs: readonly number[],
  wereSent: boolean,
): void {
  const longestMs = wereSent ? MAX_SHARP_DELAY_MS : Number.POSITIVE_INFINITY;
  if (format === 'webp') restoreWebpDelays(file, delaysMs, longestMs);
  if (format === 'gif') restoreGifDelays(file, delaysMs, longestMs);
}

/**
 * Restores delays in a WebP. libvips slows down delays of up to 10 ms in it, and joins neighbouring frames that look
 * the same. Frames are therefore matched by the time at which they end.
 */
function restoreWebpDelays(
  webp: Uint8Array<ArrayBuffer>,
  delaysMs: readonly number[],
  longestMs: number,
): void {
  if (delaysMs.every((delayMs) => delayMs > MAX_SLOWED_DELAY_MS && delayMs <= longestMs)) return;
  const file = Buffer.from(webp.buffer, webp.byteOffset, webp.byteLength);
  let picture = 0;
  for (const { type, start, end } of webpChunks(new ByteReader(file))) {
    const at = start + WEBP_DURATION_OFFSET;
    if (type !== 'ANMF' || at + WEBP_DURATION_BYTES > end) continue;
    let leftMs = file.readUIntLE(at, WEBP_DURATION_BYTES);
    let durationMs = 0;
    for (; picture < delaysMs.length && leftMs > 0; picture++) {
      const delayMs = delaysMs[picture] as number;
      leftMs -= Math.min(playedDelayMs(delayMs), longestMs);
      durationMs += delayMs;
    }
    file.writeUIntLE(durationMs, at, WEBP_DURATION_BYTES);
  }
}

/** Restores delays in a GIF, which has one frame per picture. A GIF with another number of frames is left unchanged. */
function restoreGifDelays(
  gif: Uint8Array<ArrayBuffer>,
  delaysMs: readonly number[],
  longestMs: number,
): void {
  if (delaysMs.every((delayMs) => delayMs <= longestMs)) return;
  const file = Buffer.from(gif.buffer, gif.byteOffset, gif.byteLength);
  const controls = [...gifBlocks(new ByteReader(file))].filter(isGraphicControl);
  if (controls.length !== delaysMs.length) return;
  for (const [picture, { start }] of controls.entries()) {
    const delayMs = delaysMs[picture] as number;
    if (delayMs > longestMs)
      file.writeUInt16LE(
        Math.min(MAX_GIF_DELAY_CENTISECONDS, Math.round(delayMs / 10)),
        start + GIF_DELAY_OFFSET,
      );
  }
}

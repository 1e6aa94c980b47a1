import type { DecodeOptions } from '../protocol.ts';

/**
 * Chooses frames of an animation: a range of frames, every n-th frame or a maximum rate within the range, and then a
 * maximum number. The API process and the image threads call the same functions, so that both count the same frames.
 */

/** What is known of the frames of a file. */
export interface FrameFacts {
  frames: number;
  /** Display time of each frame, in milliseconds; undefined where it is not known. */
  delays?: readonly number[] | undefined;
}

/** The chosen frames by their index in the file, and the index after the last frame whose display time they include. */
export interface FrameSelection {
  kept: number[];
  end: number;
}

/** Whether the frames of a format form an animation, and are not pages or pictures of a collection. */
export function isAnimationFormat(format: string): boolean {
  return format === 'gif' || format === 'webp';
}

/** The parameters that choose frames; they exclude `frame`. */
export const FRAME_SELECTORS = ['frames', 'everyNth', 'maxFps', 'maxFrames'] as const;

const RANGE = /^(\d+)\.\.(\d+)$/;
/** A frame whose delay is SHORT_MS or less is shown for SLOWED_MS by players. */
const SHORT_MS = 10;
const SLOWED_MS = 100;
/** Delays are rounded to milliseconds. */
const ROUNDING_MS = 1;

/** Whether a pass asks for some of the frames. */
export function selectsFrames(decode: DecodeOptions): boolean {
  return FRAME_SELECTORS.some((name) => decode[name] !== undefined);
}

/** Whether a pass asks for a single frame of whatever file it gets. */
export function selectsOneFrame({ frames, maxFrames }: DecodeOptions): boolean {
  const range = parseFrameRange(frames);
  return maxFrames === 1 || (range !== undefined && range[0] === range[1]);
}

/** The first and the last frame of a range such as `10..99`; undefined for text that is no range. */
export function parseFrameRange(frames: string | undefined): [first: number, last: number] | undefined {
  const [, first, last] = RANGE.exec(frames ?? '') ?? [];
  return first === undefined ? undefined : [Number(first), Number(last)];
}

/**
 * The frames that a pass keeps. Frames of a range that the file lacks are left out. Without known delays, `maxFps`
 * drops no frame.
 */
export function selectFrames(decode: DecodeOptions, { frames, delays }: FrameFacts): FrameSelection {
  const { everyNth = 1, maxFps, maxFrames = frames } = decode;
  const [first, last] = parseFrameRange(decode.frames) ?? [0, frames - 1];
  const isDue = maxFps === undefined || delays === undefined ? () => true : pacedBy(maxFps);
  const kept: number[] = [];
  const end = Math.min(last + 1, frames);
  let atMs = 0;
  for (let frame = first; frame < end; frame++) {
    if ((frame - first) % everyNth === 0 && isDue(atMs)) {
      if (kept.length === maxFrames) return { kept, end: frame };
      kept.push(frame);
    }
    atMs += playedMs(delays?.[frame]);
  }
  return { kept, end };
}

/** Returns a function that says, for ascending times, whether a frame is due at a rate of `fps` frames per second. */
function pacedBy(fps: number): (atMs: number) => boolean {
  const intervalMs = 1000 / fps;
  let dueMs = 0;
  return (atMs) => {
    if (atMs + ROUNDING_MS < dueMs) return false;
    dueMs = atMs + intervalMs;
    return true;
  };
}

/** The delays of the chosen frames in milliseconds. Each includes the delays of the dropped frames that follow it. */
export function delaysOfKeptFrames(delays: readonly number[], { kept, end }: FrameSelection): number[] {
  return kept.map((frame, index) => {
    const shared = delays.slice(frame, kept[index + 1] ?? end);
    return shared.length === 1 ? (shared[0] ?? 0) : shared.reduce((sum, delay) => sum + playedMs(delay), 0);
  });
}

function playedMs(delayMs = SLOWED_MS): number {
  return delayMs <= SHORT_MS ? SLOWED_MS : delayMs;
}

/** The most pixels that are decoded at once when frames are dropped, so that the whole animation is never in memory. */
const MAX_BATCH_PX = 25_000_000;

/** Consecutive frames of a file that are decoded at once. */
export interface FrameBatch {
  first: number;
  count: number;
}

/** Whether the frames directly follow each other, so that no frame between them is decoded in vain. */
export function areConsecutive(kept: readonly number[]): boolean {
  return kept.length === (kept.at(-1) ?? 0) - (kept[0] ?? 0) + 1;
}

/** The batches that contain the chosen frames. @param framePx the pixels of one frame. */
export function frameBatchesOf(kept: readonly number[], framePx: number): FrameBatch[] {
  const most = Math.max(1, Math.floor(MAX_BATCH_PX / framePx));
  const batches: FrameBatch[] = [];
  for (const frame of kept) {
    const batch = batches.at(-1);
    if (batch !== undefined && frame < batch.first + most) batch.count = frame - batch.first + 1;
    else batches.push({ first: frame, count: 1 });
  }
  return batches;
}

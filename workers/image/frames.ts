import type { DecodeOptions, PassWarning } from '../protocol.ts';
import { playedDelayMs } from './encode/delays.ts';
import { invalidParamRefusal } from './refusal.ts';

/**
 * Chooses frames of an animation: a range of frames, every n-th frame or a maximum rate within the range, and then a
 * maximum number. The API process and the image threads call the same functions, so that both count the same frames.
 */

export interface FrameFacts {
  frames: number;
  /**
   * The number of further frames, which no decoder of the service reads: those of an animated PNG or an AVIF sequence,
   * of which only a still picture is read.
   */
  unreadFrames?: number | undefined;
  /** The display time of each frame, in milliseconds; undefined if it is not known. */
  delays?: readonly number[] | undefined;
}

/** The chosen frames by their index in the file, and the index after the last frame whose display time they include. */
interface FrameSelection {
  kept: number[];
  end: number;
}

/** Whether the frames of a format form an animation, and are not pages or pictures of a collection. */
export function isAnimationFormat(format: string): boolean {
  return format === 'gif' || format === 'webp';
}

/** The parameters that choose frames. None of them can be combined with `frame`. */
export const FRAME_SELECTORS = ['frames', 'everyNth', 'maxFps', 'maxFrames'] as const;

const FRAME_RANGE = /^(\d+)\.\.(\d+)$/;
/** The tolerance for delays that were rounded to milliseconds. */
const DELAY_TOLERANCE_MS = 1;

/** Whether a pass requests some of the frames. */
export function selectsFrames(decode: DecodeOptions): boolean {
  return FRAME_SELECTORS.some((name) => decode[name] !== undefined);
}

/** Whether a pass requests a single frame of whatever file it gets. */
export function selectsOneFrame({ frames, maxFrames }: DecodeOptions): boolean {
  const range = parseFrameRange(frames);
  return maxFrames === 1 || (range !== undefined && range[0] === range[1]);
}

/** The first and the last frame of a range such as `10..99`; undefined for text that is no range. */
export function parseFrameRange(frames: string | undefined): [first: number, last: number] | undefined {
  const [, first, last] = FRAME_RANGE.exec(frames ?? '') ?? [];
  return first === undefined ? undefined : [Number(first), Number(last)];
}

/**
 * The frames that a pass keeps. Frames of a range that the file lacks are left out. Without known delays, `maxFps`
 * drops no frame.
 */
export function selectFrames(decode: DecodeOptions, { frames, delays }: FrameFacts): FrameSelection {
  const { everyNth = 1, maxFps, maxFrames = frames } = decode;
  const [first, last] = parseFrameRange(decode.frames) ?? [0, frames - 1];
  const isDue = maxFps === undefined || delays === undefined ? () => true : createPacer(maxFps);
  const kept: number[] = [];
  const end = Math.min(last + 1, frames);
  let atMs = 0;
  for (let frame = first; frame < end; frame++) {
    if ((frame - first) % everyNth === 0 && isDue(atMs)) {
      if (kept.length === maxFrames) return { kept, end: frame };
      kept.push(frame);
    }
    atMs += playedDelayMs(delays?.[frame]);
  }
  return { kept, end };
}

/** Returns a function that says, for ascending times, whether a frame is due at a rate of `fps` frames per second. */
function createPacer(fps: number): (atMs: number) => boolean {
  const intervalMs = 1000 / fps;
  let dueMs = 0;
  return (atMs) => {
    if (atMs + DELAY_TOLERANCE_MS < dueMs) return false;
    dueMs = atMs + intervalMs;
    return true;
  };
}

/** The delays of the chosen frames in milliseconds. Each includes the delays of the dropped frames that follow it. */
export function delaysOfKeptFrames(delays: readonly number[], { kept, end }: FrameSelection): number[] {
  return kept.map((frame, index) => {
    const shared = delays.slice(frame, kept[index + 1] ?? end);
    return shared.length === 1
      ? (shared[0] ?? 0)
      : shared.reduce((sum, delay) => sum + playedDelayMs(delay), 0);
  });
}

/** The most pixels that are decoded at once when frames are dropped, so that the whole animation is never in memory. */
const MAX_BATCH_PX = 25_000_000;

/** Consecutive frames of a file that are decoded at once. */
export interface FrameBatch {
  first: number;
  count: number;
}

/** Whether the frames directly follow each other, so that decoding their range decodes no frame for nothing. */
export function areConsecutive(kept: readonly number[]): boolean {
  return kept.length === (kept.at(-1) ?? 0) - (kept[0] ?? 0) + 1;
}

/**
 * The batches that contain the chosen frames.
 * @param framePx the pixels of one frame.
 */
export function frameBatchesOf(kept: readonly number[], framePx: number): FrameBatch[] {
  const maxFrames = Math.max(1, Math.floor(MAX_BATCH_PX / framePx));
  const batches: FrameBatch[] = [];
  for (const frame of kept) {
    const batch = batches.at(-1);
    if (batch !== undefined && frame < batch.first + maxFrames) batch.count = frame - batch.first + 1;
    else batches.push({ first: frame, count: 1 });
  }
  return batches;
}

/** The frames that a pass works on: the first one and their number. */
export interface ChosenFrames {
  first: number;
  count: number;
  /** The indices of the frames, if frames between them are left out. */
  kept?: readonly number[];
  /** The display time of each frame in milliseconds; absent if the file's own times apply. */
  delays?: number[];
  /** The warning that frames or pages are left out although the caller has chosen none; absent if there are none. */
  droppedWarning?: PassWarning;
}

interface SourceFrameFacts extends FrameFacts {
  format: string;
}

/** Whether the steps and the output of a pass can handle an animation. */
interface FrameSupport {
  /** Whether every step works frame by frame. */
  canBeAnimated: boolean;
  outputFormat: string;
}

/**
 * Chooses the frames. All frames are taken when `frame` is `all`, or when `frame` is absent and the input, the output
 * and the steps can be animated; otherwise one frame is taken. Parameters such as `frames` or `maxFps` choose among all
 * frames.
 * @throws PassRefusal invalid_param on the parameter that chose the frames, when the image has no such frame, or when
 *   the output cannot hold several frames.
 */
export function chooseFrames(
  decode: DecodeOptions,
  source: SourceFrameFacts,
  use: FrameSupport,
): ChosenFrames {
  if (selectsFrames(decode)) return chooseBySelectors(decode, source, use);
  return chooseByFrame(decode, source, use);
}

function chooseBySelectors(decode: DecodeOptions, source: SourceFrameFacts, use: FrameSupport): ChosenFrames {
  const { delays } = source;
  const frames = source.frames + (source.unreadFrames ?? 0);
  const [from = 0, to = 0] = parseFrameRange(decode.frames) ?? [];
  if (Math.max(from, to) >= frames) {
    const frameWords = frames === 1 ? 'only 1 frame, which is 0' : `${frames} frames, 0 to ${frames - 1}`;
    const details = { received: decode.frames, limit: frames - 1, count: frames };
    throw invalidParamRefusal(
      'frames',
      `frames is ${decode.frames}, but the image has ${frameWords}.`,
      details,
    );
  }
  const selection = selectFrames(decode, { frames, delays });
  const { kept } = selection;
  const first = kept[0] ?? 0;
  const param = FRAME_SELECTORS.find((name) => decode[name] !== undefined) ?? 'frames';
  const requestWords = `${param} is ${decode[param]}`;
  assertFrameIsRead(source, kept.at(-1) ?? 0, param, requestWords);
  if (kept.length > 1) assertHoldsFrames(source, use, param, requestWords);
  if (kept.length === frames) return { first, count: frames };
  return {
    first,
    count: kept.length,
    ...(!areConsecutive(kept) && { kept }),
    ...(delays !== undefined && { delays: delaysOfKeptFrames(delays, selection) }),
  };
}

function chooseByFrame({ frame }: DecodeOptions, source: SourceFrameFacts, use: FrameSupport): ChosenFrames {
  const { canBeAnimated, outputFormat } = use;
  const { frames, format, unreadFrames = 0 } = source;
  if (typeof frame === 'number') {
    if (frame < frames) return { first: frame, count: 1 };
    assertFrameIsRead(source, frame, 'frame', `frame is ${frame}`);
    const last = frames - 1;
    const message = `frame is ${frame}, but the image has ${frames === 1 ? 'only frame 0' : `frames 0 to ${last}`}.`;
    throw invalidParamRefusal('frame', message, { received: frame, limit: last });
  }
  const requestWords = 'frame is all';
  if (frame === 'all') assertFrameIsRead(source, frames + unreadFrames - 1, 'frame', requestWords);
  if (frame === 'all' && frames > 1) {
    assertHoldsFrames(source, use, 'frame', requestWords);
    return { first: 0, count: frames };
  }
  const movesByDefault =
    frame === undefined && canBeAnimated && isAnimationFormat(format) && isAnimationFormat(outputFormat);
  if (movesByDefault) return { first: 0, count: frames };
  const droppedWarning = frame === undefined ? firstFrameWarning(source) : undefined;
  return { first: 0, count: 1, ...(droppedWarning && { droppedWarning }) };
}

/**
 * The warning that only the first frame of an animation, or the first page of a document, is read; undefined if there
 * is no other.
 */
export function firstFrameWarning({
  format,
  frames,
  unreadFrames = 0,
}: SourceFrameFacts): PassWarning | undefined {
  const droppedCount = frames - 1 + unreadFrames;
  if (droppedCount === 0) return undefined;
  const isAnimation = isAnimationFormat(format) || unreadFrames > 0;
  return { code: isAnimation ? 'frames_lost' : 'pages_lost', name: String(droppedCount) };
}

/** Refuses a frame that the file has, but that no decoder of the service reads. */
function assertFrameIsRead(
  { frames, unreadFrames = 0 }: SourceFrameFacts,
  frame: number,
  param: string,
  requestWords: string,
): void {
  if (frame < frames || frame >= frames + unreadFrames) return;
  const message = `${requestWords}, but only the first picture of an animated PNG or AVIF is read: leave it out, or send the animation as GIF or WebP.`;
  throw invalidParamRefusal(param, message);
}

/**
 * Refuses several frames where the input, the output or a step handles a single picture only.
 * @param requestWords the parameter that requests several frames, and its value.
 */
function assertHoldsFrames(
  { format }: SourceFrameFacts,
  { canBeAnimated, outputFormat }: FrameSupport,
  param: string,
  requestWords: string,
): void {
  const refused = (reason: string) => invalidParamRefusal(param, `${requestWords}, but ${reason}`);
  if (!isAnimationFormat(outputFormat))
    throw refused(`${outputFormat} holds one picture: ask for gif or webp, or for one frame.`);
  if (!isAnimationFormat(format))
    throw refused(`this ${format} holds pages, not frames: ask for one by its index from 0.`);
  if (!canBeAnimated) throw refused('a step of this pass makes one picture: ask for one frame.');
}

import type { DecodeOptions } from '../protocol.ts';
import {
  areConsecutive,
  delaysOfKeptFrames,
  FRAME_SELECTORS,
  type FrameFacts,
  isAnimationFormat,
  parseFrameRange,
  selectFrames,
  selectsFrames,
} from './frames.ts';
import { invalidArgument } from './refusal.ts';

/** The frames that a pass works on: the first one and their number. */
export interface ChosenFrames {
  first: number;
  count: number;
  /** The indices of the frames, if frames between them are left out. */
  kept?: readonly number[];
  /** Display time of each frame in milliseconds; absent if the file's own times apply. */
  delays?: number[];
}

/** What is known of the frames of a file, and its format. */
interface FrameSource extends FrameFacts {
  format: string;
}

/** What a pass makes of frames. */
interface FrameUse {
  /** Whether every step works frame by frame. */
  canMove: boolean;
  outputFormat: string;
}

/**
 * Chooses the frames. All frames are taken when `frame` is `all`, or when `frame` is absent and the input, the output
 * and the steps can be animated; otherwise one frame is taken. Parameters such as `frames` or `maxFps` choose among all
 * frames.
 * @throws PassRefusal invalid_param on the parameter that chose the frames, when the image has no such frame, or when
 *   the output cannot hold several frames.
 */
export function chooseFrames(decode: DecodeOptions, source: FrameSource, making: FrameUse): ChosenFrames {
  return selectsFrames(decode) ? chooseAmong(decode, source, making) : chooseByFrame(decode, source, making);
}

/** @throws Refusal as chooseFrames. */
function chooseAmong(
  decode: DecodeOptions,
  source: FrameSource,
  { canMove, outputFormat }: FrameUse,
): ChosenFrames {
  const { frames, delays } = source;
  const [from = 0, to = 0] = parseFrameRange(decode.frames) ?? [];
  if (Math.max(from, to) >= frames) {
    const has = frames === 1 ? 'only 1 frame, which is 0' : `${frames} frames, 0 to ${frames - 1}`;
    const details = { received: decode.frames, limit: frames - 1, count: frames };
    throw invalidArgument('frames', `frames is ${decode.frames}, but the image has ${has}.`, details);
  }
  const selection = selectFrames(decode, source);
  const { kept } = selection;
  const first = kept[0] ?? 0;
  if (kept.length === frames) return { first, count: frames };
  const param = FRAME_SELECTORS.find((name) => decode[name] !== undefined) ?? 'frames';
  const named = `${param} is ${decode[param]}`;
  if (kept.length > 1) assertHoldsFrames(source.format, { canMove, outputFormat }, param, named);
  return {
    first,
    count: kept.length,
    ...(!areConsecutive(kept) && { kept }),
    ...(delays !== undefined && { delays: delaysOfKeptFrames(delays, selection) }),
  };
}

/** @throws Refusal as chooseFrames. */
function chooseByFrame({ frame }: DecodeOptions, source: FrameSource, making: FrameUse): ChosenFrames {
  const { canMove, outputFormat } = making;
  const { frames, format } = source;
  if (typeof frame === 'number') {
    if (frame < frames) return { first: frame, count: 1 };
    const last = frames - 1;
    const message = `frame is ${frame}, but the image has ${frames === 1 ? 'only frame 0' : `frames 0 to ${last}`}.`;
    throw invalidArgument('frame', message, { received: frame, limit: last });
  }
  if (frame === 'all' && frames > 1) {
    assertHoldsFrames(format, making, 'frame', 'frame is all');
    return { first: 0, count: frames };
  }
  const movesByDefault =
    frame === undefined && canMove && isAnimationFormat(format) && isAnimationFormat(outputFormat);
  return { first: 0, count: movesByDefault ? frames : 1 };
}

/**
 * Refuses several frames where the input, the output or a step handles a single picture only.
 * @param named the parameter that asks for several frames, and its value.
 */
function assertHoldsFrames(
  format: string,
  { canMove, outputFormat }: FrameUse,
  param: string,
  named: string,
): void {
  const refused = (reason: string) => invalidArgument(param, `${named}, but ${reason}`);
  if (!isAnimationFormat(outputFormat))
    throw refused(`${outputFormat} holds one picture: ask for gif or webp, or for one frame.`);
  if (!isAnimationFormat(format))
    throw refused(`this ${format} holds pages, not frames: ask for one by its index from 0.`);
  if (!canMove) throw refused('a step of this pass makes one picture: ask for one frame.');
}

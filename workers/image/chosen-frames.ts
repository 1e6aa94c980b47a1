import type { Decode } from '../protocol.ts';
import {
  FRAME_SELECTORS,
  type FrameFacts,
  isConsecutive,
  isMoving,
  joinedDelays,
  rangeOf,
  selectFrames,
  selectsFrames,
} from './frames.ts';
import { invalidArgument } from './refusal.ts';

/** The frames that a pass works on: the first one and their number. */
export interface Chosen {
  first: number;
  count: number;
  /** The frames by their index, if others that are left out lie between them. */
  kept?: readonly number[];
  /** Display time of each, in milliseconds; absent where it is that of the file. */
  delays?: number[];
}

/** What is known of the frames of a file, and the format that has them. */
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
 * Chooses the frames. All are taken when `frame` is `all`, or when it is absent and input, output and steps can be
 * animated; otherwise one. The parameters in place of `frame` choose among all.
 * @throws Refusal invalid_param on `frame`, or the parameter in its place, when the image has no such frame, or the
 * output cannot hold several.
 */
export function chooseFrames(decode: Decode, source: FrameSource, making: FrameUse): Chosen {
  return selectsFrames(decode) ? chooseAmong(decode, source, making) : chooseByFrame(decode, source, making);
}

/** @throws Refusal as chooseFrames. */
function chooseAmong(decode: Decode, source: FrameSource, { canMove, outputFormat }: FrameUse): Chosen {
  const { frames, delays } = source;
  const [from = 0, to = 0] = rangeOf(decode.frames) ?? [];
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
    ...(!isConsecutive(kept) && { kept }),
    ...(delays !== undefined && { delays: joinedDelays(delays, selection) }),
  };
}

/** @throws Refusal as chooseFrames. */
function chooseByFrame({ frame }: Decode, source: FrameSource, making: FrameUse): Chosen {
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
  const movesByDefault = frame === undefined && canMove && isMoving(format) && isMoving(outputFormat);
  return { first: 0, count: movesByDefault ? frames : 1 };
}

/**
 * Refuses several frames where input, output or a step has one picture.
 * @param named the parameter that asks for several, and its value.
 */
function assertHoldsFrames(
  format: string,
  { canMove, outputFormat }: FrameUse,
  param: string,
  named: string,
): void {
  const refused = (reason: string) => invalidArgument(param, `${named}, but ${reason}`);
  if (!isMoving(outputFormat))
    throw refused(`${outputFormat} holds one picture: ask for gif or webp, or for one frame.`);
  if (!isMoving(format))
    throw refused(`this ${format} holds pages, not frames: ask for one by its index from 0.`);
  if (!canMove) throw refused('a step of this pass makes one picture: ask for one frame.');
}

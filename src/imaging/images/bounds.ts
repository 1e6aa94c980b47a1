import { mismatchOf, type Outlook, predict, unscorable } from '../../../workers/image/bounds.ts';
import type { Pass } from '../../../workers/protocol.ts';
import { encodeOf, upright } from './estimates/following.ts';
import { refusalOf } from './failures.ts';
import type { Header } from './header/header.ts';
import { hintOf, readingsOf } from './header/readings.ts';

/** Maps a parameter of a pass to the field of the call. */
type ParamOf = (passParam: string) => string;

/** What is known of the file of a pass before it is decoded. */
interface File {
  header: Header;
  fileBytes: number;
}

/** What a pass makes, as far as the header of its file tells. */
export type Foreseen = Exclude<Outlook, { failure: object }>;

/**
 * Foresees a pass. What its worker would refuse for the frames, the size or the channels of the picture is refused by
 * the same rules, before the pass takes a slot.
 * @returns null for a stored animation whose frames are chosen by a rate: its facts do not tell the frames that stay.
 * @throws ApiError invalid_param.
 */
export function foresee({ header, fileBytes }: File, pass: Pass, paramOf?: ParamOf): Foreseen | null {
  const { format, frames, delays } = header;
  if (pass.decode.maxFps !== undefined && frames > 1 && delays === undefined) return null;
  const input = {
    ...upright(header),
    format,
    frames: readingsOf(header).pictures ?? frames,
    delays,
    // Without this hint it is unknown: the decoder may add an alpha channel that the header does not declare.
    hasAlpha: format === 'svg' || hintOf(header).header?.hasAlpha,
    fileBytes,
  };
  const outlook = predict(input, pass, encodeOf(header, pass));
  if (outlook.failure !== undefined) throw refusalOf(outlook.failure, paramOf);
  return outlook;
}

/** Refuses a score of pictures that are too small or too large for one. @throws ApiError invalid_param. */
export function assertScorable(header: Header): void {
  const failure = unscorable(upright(header));
  if (failure !== undefined) throw refusalOf(failure);
}

/** Refuses a comparison of two pictures of different sizes, as its worker would. @throws ApiError invalid_param. */
export function assertSameSize(one: Header, other: Header, paramOf?: ParamOf): void {
  const failure = mismatchOf(upright(one), upright(other));
  if (failure !== undefined) throw refusalOf(failure, paramOf);
}

import { findMisfit, mismatchOf } from '../../../workers/image/bounds.ts';
import type { Pass } from '../../../workers/protocol.ts';
import { encodeOf, framesOf, upright } from './estimates/following.ts';
import { refusalOf } from './failures.ts';
import type { Header } from './header/header.ts';
import { hintOf } from './header/readings.ts';

/** Maps a parameter of a pass to the field of the call. */
type ParamOf = (passParam: string) => string;

/** What is known of the file of a pass before it is decoded. */
interface File {
  header: Header;
  fileBytes: number;
}

/**
 * Refuses a pass that its worker would refuse for the size or the channels of the picture, by the same rules and before
 * it takes a slot.
 * @throws ApiError invalid_param.
 */
export function assertWithinBounds({ header, fileBytes }: File, pass: Pass, paramOf?: ParamOf): void {
  // The pages of a document may differ in size, and the header is that of the first.
  const { frame, maxFps } = pass.decode;
  if (typeof frame === 'number' && frame > 0 && !header.animated) return;
  // Of a stored file it is not known yet how many frames a rate leaves.
  if (maxFps !== undefined && header.delays === undefined) return;
  // Without this hint it is unknown: the decoder may add an alpha channel that the header does not declare.
  const hasAlpha = hintOf(header).header?.hasAlpha;
  const picture = { ...upright(header), frames: framesOf(header, pass), hasAlpha, fileBytes };
  const failure = findMisfit(picture, pass, encodeOf(header, pass));
  if (failure !== undefined) throw refusalOf(failure, paramOf);
}

/** Refuses a comparison of two pictures of different sizes, as its worker would. @throws ApiError invalid_param. */
export function assertSameSize(one: Header, other: Header, paramOf?: ParamOf): void {
  const failure = mismatchOf(upright(one), upright(other));
  if (failure !== undefined) throw refusalOf(failure, paramOf);
}

import type { Size } from '../../../../workers/formats/size.ts';
import { mismatchOf, type PassPrediction, predict, scoreFailure } from '../../../../workers/image/bounds.ts';
import {
  batchesOf,
  type FrameBatch,
  isConsecutive,
  isMoving,
  selectFrames,
  selectsFrames,
} from '../../../../workers/image/frames.ts';
import { layersOf, stepNamed } from '../../../../workers/image/operations/index.ts';
import type { Encode, OutputFormat, Pass } from '../../../../workers/protocol.ts';
import { refusalOf } from '../failures.ts';
import type { Header } from '../header/header.ts';
import { hintOf, readingsOf } from '../header/readings.ts';

/*
 * Predicts a pass from the header of its file, before a pixel is read: what its worker would refuse, and what the
 * estimates of time and memory start from.
 */

/** The headers of second pictures, by the id in the steps. */
export type LayerHeaders = Readonly<Record<string, Header>>;

/** The second pictures that the steps of a pass read, one for each such step. */
export function layerHeadersOf({ steps }: Pass, layers: LayerHeaders): Header[] {
  return layersOf(steps).flatMap(({ assetId }) => layers[assetId] ?? []);
}

/** The size of a frame, as displayed, before the first step and after each: one more than there are steps. */
export function sizesOf(header: Header, { steps }: Pass): Size[] {
  const sizes = [displayedSizeOf(header)];
  for (const { operation: name, params } of steps) {
    const size = sizes.at(-1) as Size;
    sizes.push(stepNamed(name)?.size(size, params) ?? size);
  }
  return sizes;
}

/** How the result is written, in the format of the file if the pass names none. */
export function encodeOf(header: Header, { encode }: Pass): Encode & { format: OutputFormat } {
  return { ...encode, format: encode.format ?? ownFormat(header) };
}

/** How many frames the pass keeps: several only if the result moves and every step keeps it moving. */
export function framesOf(header: Header, pass: Pass): number {
  const { frame = 'all' } = pass.decode;
  const moves = isMoving(encodeOf(header, pass).format) && frame === 'all';
  if (!moves || pass.steps.some(({ operation }) => stepNamed(operation)?.frames === 'first')) return 1;
  if (!selectsFrames(pass.decode)) return header.frames;
  return Math.max(1, selectFrames(pass.decode, header).kept.length);
}

/** The batches in which the file is decoded if the pass leaves out frames in between; undefined for any other pass. */
export function skippingBatches(header: Header, pass: Pass): FrameBatch[] | undefined {
  if (!selectsFrames(pass.decode) || framesOf(header, pass) === 1) return undefined;
  const { kept } = selectFrames(pass.decode, header);
  return isConsecutive(kept) ? undefined : batchesOf(kept, header.width * header.height);
}

/** The size of a frame as displayed. */
export function displayedSizeOf({ width, height, orientation }: Header): Size {
  return orientation >= 5 ? { width: height, height: width } : { width, height };
}

/** The input's own format if it can be written. */
function ownFormat({ format }: Header): OutputFormat {
  return format === 'svg' || format === 'heif' ? 'png' : format;
}

/** Maps a parameter of a pass to the field of the call. */
type ParamOf = (passParam: string) => string;

/** What is known of the file of a pass before it is decoded. */
interface File {
  header: Header;
  fileBytes: number;
}

/** What a pass makes, as far as the header of its file tells. */
export type Foreseen = Exclude<PassPrediction, { failure: object }>;

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
    ...displayedSizeOf(header),
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
  const failure = scoreFailure(displayedSizeOf(header));
  if (failure !== undefined) throw refusalOf(failure);
}

/** Refuses a comparison of two pictures of different sizes, as its worker would. @throws ApiError invalid_param. */
export function assertSameSize(one: Header, other: Header, paramOf?: ParamOf): void {
  const failure = mismatchOf(displayedSizeOf(one), displayedSizeOf(other));
  if (failure !== undefined) throw refusalOf(failure, paramOf);
}

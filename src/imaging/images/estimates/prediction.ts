import type { Size } from '../../../../workers/formats/size.ts';
import {
  findScoringSizeFailure,
  type PassPrediction,
  predictPass,
  sizeMismatchFailure,
} from '../../../../workers/image/bounds.ts';
import {
  areConsecutive,
  type FrameBatch,
  frameBatchesOf,
  isAnimationFormat,
  selectFrames,
  selectsFrames,
} from '../../../../workers/image/frames.ts';
import { findStepOperation, layersOf } from '../../../../workers/image/operations/index.ts';
import type { EncodeOptions, ImagePass, OutputFormat } from '../../../../workers/protocol.ts';
import { apiErrorOfFailure } from '../failures.ts';
import { type ImageHeader, inputHeaderHintOf } from '../header/facts.ts';

/*
 * Predicts a pass from the header of its file, before a pixel is read: the error with which its worker would refuse it,
 * and the sizes and frames that the estimates of time and memory start from.
 */

/** The headers of the second pictures, keyed by the id that the steps use for them. */
export type LayerHeaders = Readonly<Record<string, { header: ImageHeader }>>;

/** The headers of the second pictures that the steps of a pass read, one for each such step. */
export function layerHeadersOf({ steps }: ImagePass, layers: LayerHeaders): ImageHeader[] {
  return layersOf(steps).flatMap(({ assetId }) => layers[assetId]?.header ?? []);
}

/** The size of a frame, as displayed, before the first step and after each step. */
export function sizesAfterSteps(header: ImageHeader, { steps }: ImagePass): Size[] {
  const sizes = [displayedSizeOf(header)];
  for (const { operation: name, params } of steps) {
    const size = sizes.at(-1) as Size;
    sizes.push(findStepOperation(name)?.size(size, params) ?? size);
  }
  return sizes;
}

/**
 * The encode options of a pass. If the pass names no format, the format is that of the file, or PNG if the service
 * cannot write the format of the file.
 */
export function resolvedEncodeOf(
  { format }: ImageHeader,
  { encode }: ImagePass,
): EncodeOptions & { format: OutputFormat } {
  return { ...encode, format: encode.format ?? (format === 'svg' || format === 'heif' ? 'png' : format) };
}

/**
 * The number of frames that the pass keeps: one, unless the result is an animation and no step reads only the first
 * frame.
 */
export function frameCountOf(header: ImageHeader, pass: ImagePass): number {
  const { frame = 'all' } = pass.decode;
  const formats = [header.format, resolvedEncodeOf(header, pass).format];
  const moves = formats.every(isAnimationFormat) && frame === 'all';
  if (!moves || pass.steps.some(({ operation }) => findStepOperation(operation)?.frames === 'first'))
    return 1;
  if (!selectsFrames(pass.decode)) return header.frames;
  return Math.max(1, selectFrames(pass.decode, header).kept.length);
}

/** The batches in which the file is decoded if the pass drops frames in between; undefined for any other pass. */
export function batchesWithSkippedFrames(header: ImageHeader, pass: ImagePass): FrameBatch[] | undefined {
  if (!selectsFrames(pass.decode) || frameCountOf(header, pass) === 1) return undefined;
  const { kept } = selectFrames(pass.decode, header);
  return areConsecutive(kept) ? undefined : frameBatchesOf(kept, header.width * header.height);
}

/** The size of a frame after it is turned by its EXIF orientation. */
export function displayedSizeOf({ width, height, orientation }: ImageHeader): Size {
  return orientation >= 5 ? { width: height, height: width } : { width, height };
}

/** Maps a parameter of a pass to the field of the call. */
type ParamMapper = (passParam: string) => string;

/** The facts of the file of a pass that are known before it is decoded. */
interface PassFile {
  header: ImageHeader;
  fileBytes: number;
}

/** A prediction that the pass succeeds, with the facts of its result that the header of the file reveals. */
export type SuccessfulPrediction = Exclude<PassPrediction, { failure: object }>;

/**
 * Predicts the result of a pass. It applies the rules by which the worker would refuse the frames, the size or the
 * channels of the picture, before the pass takes a slot.
 * @returns null for a stored animation whose frames are chosen by a rate, because the stored facts lack the display
 * times of the frames.
 * @throws ApiError invalid_param.
 */
export function predictSuccess(
  { header, fileBytes }: PassFile,
  pass: ImagePass,
  paramOf?: ParamMapper,
): SuccessfulPrediction | null {
  const { format, frames, unreadFrames, delays } = header;
  if (pass.decode.maxFps !== undefined && frames > 1 && delays === undefined) return null;
  const input = {
    ...displayedSizeOf(header),
    format,
    frames,
    unreadFrames,
    delays,
    // If the header gives no hint, the alpha channel is unknown, because the decoder may add one that the header does
    // not declare.
    hasAlpha: format === 'svg' || inputHeaderHintOf(header).header?.hasAlpha,
    fileBytes,
  };
  const predicted = predictPass(input, pass, resolvedEncodeOf(header, pass));
  if (predicted.failure !== undefined) throw apiErrorOfFailure(predicted.failure, paramOf);
  return predicted;
}

/**
 * Refuses a score for pictures that are too small or too large.
 * @throws ApiError invalid_param.
 */
export function checkScorableSize(header: ImageHeader): void {
  const failure = findScoringSizeFailure(displayedSizeOf(header));
  if (failure !== undefined) throw apiErrorOfFailure(failure);
}

/**
 * Refuses a comparison of two pictures of different sizes, as the worker would.
 * @throws ApiError invalid_param.
 */
export function checkSameSize(one: ImageHeader, other: ImageHeader, paramOf?: ParamMapper): void {
  const failure = sizeMismatchFailure(displayedSizeOf(one), displayedSizeOf(other));
  if (failure !== undefined) throw apiErrorOfFailure(failure, paramOf);
}

import type { Size } from '../formats/size.ts';
import type {
  DecodeOptions,
  EncodeOptions,
  ImagePass,
  OutputFormat,
  PassWarning,
  TaskFailure,
} from '../protocol.ts';
import { assertEncodable } from './encode/encoder.ts';
import { type ChosenFrames, chooseFrames, type FrameFacts, isAnimationFormat } from './frames.ts';
import { assertScoreMeasurable, scoreRefusalFor } from './likeness/measurable.ts';
import { findStepOperation } from './operations/index.ts';
import { isSameSize, type PictureShape } from './pixels/geometry.ts';
import { argumentRefusal, invalidParamRefusal, PassRefusal } from './refusal.ts';
import { assertByteLimitReachable } from './search/smallest-file.ts';

/**
 * What the header of a file reveals before the file is decoded. Width and height are those of one upright frame, or 0
 * if they are not known.
 */
export interface InputShape extends Size, FrameFacts {
  /** The format as named by libvips. */
  format: string;
  /** Whether the file has an alpha channel; undefined if that is not known. */
  hasAlpha: boolean | undefined;
  fileBytes: number;
}

/**
 * The predicted result of a pass, as far as it is known without decoding, or the failure with which the pass would end.
 */
export type PassPrediction =
  | {
      frames: number;
      /** The picture after the last step; null if its size depends on its pixels. */
      made: PictureShape | null;
      warnings: PassWarning[];
      failure?: never;
    }
  | { failure: TaskFailure };

/**
 * Predicts the result of a pass, or the failure with which the pass would end. It applies the rules of the steps to the
 * frames, the size and the channels of the file, so that a pass that must fail is not started. Facts that depend on
 * pixels are left to the pass, such as the size that a trim finds.
 * @param encode how the result is written.
 */
export function predictPass(
  input: InputShape,
  { decode, steps }: Pick<ImagePass, 'decode' | 'steps'>,
  encode: EncodeOptions & { format: OutputFormat },
): PassPrediction {
  try {
    const chosen = framesChosenBy(input, decode, steps, encode.format);
    const frames = chosen.count;
    const ofFrames = chosen.droppedWarning ? [chosen.droppedWarning] : [];
    if (input.width === 0 || readsLaterPage(input, decode)) return { frames, made: null, warnings: ofFrames };
    const { made, warnings } = applyStepRules({ ...input, frames }, steps);
    if (made !== null) assertWritable(made, encode, input);
    return { frames, made, warnings: [...ofFrames, ...warnings] };
  } catch (error) {
    if (error instanceof PassRefusal) return { failure: error.failure };
    throw error;
  }
}

/** Whether a pass reads a page of a document other than the first. The pages of a document may differ in size. */
function readsLaterPage({ format }: InputShape, { frame }: DecodeOptions): boolean {
  return typeof frame === 'number' && frame > 0 && !isAnimationFormat(format);
}

/**
 * The frames that the pass works on.
 * @throws PassRefusal if the file lacks the chosen frames. It names the parameter that chose them.
 */
function framesChosenBy(
  input: InputShape,
  decode: DecodeOptions,
  steps: ImagePass['steps'],
  outputFormat: string,
): ChosenFrames {
  const canBeAnimated = steps.every(({ operation }) => findStepOperation(operation)?.frames !== 'first');
  return chooseFrames(decode, input, { canBeAnimated, outputFormat });
}

/**
 * The picture after the last step, and the warnings of the steps. The picture is null if its size depends on its
 * pixels.
 * @throws PassRefusal of the first step that does not fit the picture before it.
 */
function applyStepRules(
  picture: PictureShape,
  steps: ImagePass['steps'],
): { made: PictureShape | null; warnings: PassWarning[] } {
  const warnings: PassWarning[] = [];
  let shape = picture;
  for (const [index, { operation: name, params }] of steps.entries()) {
    const operation = findStepOperation(name);
    if (operation === undefined) continue;
    const inputShape = operation.frames === 'each' ? { ...shape, frames: 1 } : shape;
    const badArgument = operation.findInvalidArgument(params) ?? operation.findFitError(inputShape, params);
    if (badArgument !== undefined)
      throw argumentRefusal(badArgument, `steps[${index}].params`, operation, params);
    if (operation.sizeAfter === 'found') return { made: null, warnings };
    warnings.push(...operation.warningsAbout(shape, params));
    const keptAlpha = operation.keepsAlpha(params) || shape.hasAlpha ? shape.hasAlpha : undefined;
    shape = {
      ...operation.size(shape, params),
      frames: shape.frames,
      hasAlpha: operation.transparentAfter(params) ?? keptAlpha,
    };
  }
  return { made: shape, warnings };
}

/**
 * The failure that refuses to compare pictures of different sizes; undefined for equal sizes. Both sizes are upright.
 */
export function sizeMismatchFailure(one: Size, other: Size): TaskFailure | undefined {
  if (isSameSize(one, other)) return undefined;
  return invalidParamRefusal(
    'otherAssetId',
    `The picture is ${one.width} x ${one.height} px and the other one ${other.width} x ${other.height} px: make them the same size first, such as by a resize before the comparison.`,
  ).failure;
}

/** The failure that refuses to score pictures that are too small or too large; undefined for other sizes. */
export function findScoringSizeFailure(size: Size): TaskFailure | undefined {
  return scoreRefusalFor({ ...size, frames: 1 }, 'leave it out')?.failure;
}

/**
 * @throws PassRefusal if the format cannot hold a picture of that size, or if no file can meet the target. A byte limit
 * is not checked if the input is within it and has the same size in pixels, because the pass may return the input.
 */
function assertWritable(
  made: PictureShape,
  encode: EncodeOptions & { format: OutputFormat },
  input: InputShape,
): void {
  assertEncodable(encode, made);
  const { target } = encode;
  if (target === undefined) return;
  if ('ssimulacra2' in target) assertScoreMeasurable(made);
  if (!('maxBytes' in target)) return;
  const mayBeInput = isSameSize(made, input) && input.fileBytes <= target.maxBytes;
  if (!mayBeInput) assertByteLimitReachable(target.maxBytes, encode, made);
}

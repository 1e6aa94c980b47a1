import type { Size } from '../formats/size.ts';
import type { Decode, Encode, Failure, OutputFormat, Pass, PassWarning } from '../protocol.ts';
import { chooseFrames } from './chosen-frames.ts';
import { assertEncodable } from './encode/encoder.ts';
import { type FrameFacts, isMoving } from './frames.ts';
import { assertMeasurable, scoreRefusal } from './likeness/measurable.ts';
import { stepNamed } from './operations/index.ts';
import type { Shape } from './pixels/geometry.ts';
import { invalidArgument, Refusal, refusedArgument } from './refusal.ts';
import { assertReachable } from './search/smallest-file.ts';

/** A file before its pass. */
export interface InputShape extends Size, FrameFacts {
  /** Width and height are those of one frame, upright; 0 if they are not known. */
  format: string;
  /** Whether it has an alpha channel; undefined if that is not known. */
  hasAlpha: boolean | undefined;
  fileBytes: number;
}

/** What a pass makes of a file, as far as it is known without a pixel, or the failure with which it would end. */
export type PassPrediction =
  | {
      frames: number;
      /** The picture after the last step; null if its size is not known without its pixels. */
      made: Shape | null;
      warnings: PassWarning[];
      failure?: never;
    }
  | { failure: Failure };

/**
 * What a pass makes of a file, or the failure with which it would end for the frames, the size or the channels of the
 * file. The rules of the steps are asked without a pixel, so that no work is done for a pass that cannot be done. What
 * depends on the pixels is left to the pass: the size that a trim finds, and all that comes after it.
 * @param encode how the result is written.
 */
export function predict(
  input: InputShape,
  { decode, steps }: Pick<Pass, 'decode' | 'steps'>,
  encode: Encode & { format: OutputFormat },
): PassPrediction {
  try {
    const frames = framesIn(input, decode, steps, encode.format);
    if (input.width === 0 || isOtherPage(input, decode)) return { frames, made: null, warnings: [] };
    const { made, warnings } = behind({ ...input, frames }, steps);
    if (made !== null) assertWritable(made, encode, input);
    return { frames, made, warnings };
  } catch (error) {
    if (error instanceof Refusal) return { failure: error.failure };
    throw error;
  }
}

/** Whether a pass reads another page of a document than the first: its pages may differ in size. */
function isOtherPage({ format }: InputShape, { frame }: Decode): boolean {
  return typeof frame === 'number' && frame > 0 && !isMoving(format);
}

/** @throws Refusal on `frame`, or the parameter in its place. */
function framesIn(input: InputShape, decode: Decode, steps: Pass['steps'], outputFormat: string): number {
  const canMove = steps.every(({ operation }) => stepNamed(operation)?.frames !== 'first');
  return chooseFrames(decode, input, { canMove, outputFormat }).count;
}

/**
 * The picture after the last step, null if its size is not known without its pixels, and the warnings of the steps.
 * @throws Refusal of the first step that does not fit the picture before it.
 */
function behind(picture: Shape, steps: Pass['steps']): { made: Shape | null; warnings: PassWarning[] } {
  const warnings: PassWarning[] = [];
  let shape = picture;
  for (const [index, { operation: name, params }] of steps.entries()) {
    const operation = stepNamed(name);
    if (operation === undefined) continue;
    const seen = operation.frames === 'each' ? { ...shape, frames: 1 } : shape;
    const fault = operation.rule(params) ?? operation.fits(seen, params);
    if (fault !== undefined) throw refusedArgument(fault, `steps[${index}].params`, operation, params);
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

/** The failure of a comparison of two pictures of these sizes, upright. */
export function mismatchOf(one: Size, other: Size): Failure | undefined {
  if (isSameSize(one, other)) return undefined;
  return invalidArgument(
    'otherAssetId',
    `The picture is ${one.width} x ${one.height} px and the other one ${other.width} x ${other.height} px: make them the same size first, such as by a resize before the comparison.`,
  ).failure;
}

/** The failure of a comparison that asks for a score of pictures of this size. */
export function scoreFailure(size: Size): Failure | undefined {
  return scoreRefusal({ ...size, frames: 1 }, 'leave it out')?.failure;
}

/**
 * @throws Refusal if the format cannot hold a picture of that size, or the target cannot be measured on it or
 * reached. A target that the input itself reaches is left to the pass, because the input may be the result.
 */
function assertWritable(made: Shape, encode: Encode & { format: OutputFormat }, input: InputShape): void {
  assertEncodable(encode, made);
  const { target } = encode;
  if (target === undefined) return;
  if ('ssimulacra2' in target) assertMeasurable(made);
  if (!('maxBytes' in target)) return;
  const mayBeInput = isSameSize(made, input) && input.fileBytes <= target.maxBytes;
  if (!mayBeInput) assertReachable(target.maxBytes, encode, made);
}

function isSameSize(one: Size, other: Size): boolean {
  return one.width === other.width && one.height === other.height;
}

import type { Encode, Failure, OutputFormat, Pass } from '../protocol.ts';
import { assertEncodable } from './encode/encoder.ts';
import { assertMeasurable } from './likeness/measurable.ts';
import { operationNamed } from './operations/index.ts';
import type { Shape, Size } from './pixels/geometry.ts';
import { invalid, Refusal, refusedArgument } from './refusal.ts';
import { assertReachable } from './search/smallest-file.ts';

/** The picture of a file before the first step. */
interface InputShape extends Shape {
  fileBytes: number;
}

/**
 * The failure with which a pass would end for the size or the channels of its picture. The rules of the steps are asked
 * without a pixel, so that no work is done for a pass that cannot be done. What depends on the pixels is left to the
 * pass: the size that a trim finds, and all that comes after it.
 * @param picture upright.
 * @param encode how the result is written.
 */
export function findMisfit(
  picture: InputShape,
  { steps }: Pick<Pass, 'steps'>,
  encode: Encode & { format: OutputFormat },
): Failure | undefined {
  try {
    const made = shapeBehind(picture, steps);
    if (made !== null) assertWritable(made, encode, picture);
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error.failure;
    throw error;
  }
}

/**
 * The picture after the last step; null if its size is not known without its pixels.
 * @throws Refusal of the first step that does not fit the picture before it.
 */
function shapeBehind(picture: Shape, steps: Pass['steps']): Shape | null {
  let shape = picture;
  for (const [index, { operation: name, params }] of steps.entries()) {
    const operation = operationNamed(name);
    if (operation?.kind !== 'step') continue;
    const seen = operation.frames === 'each' ? { ...shape, frames: 1 } : shape;
    const fault = operation.rule(params) ?? operation.fits(seen, params);
    if (fault !== undefined) throw refusedArgument(fault, `steps[${index}].params`, operation, params);
    if (operation.sizeAfter === 'found') return null;
    const keptAlpha = operation.keepsAlpha ? shape.hasAlpha : undefined;
    shape = {
      ...operation.size(shape, params),
      frames: shape.frames,
      hasAlpha: operation.transparentAfter(params) ?? keptAlpha,
    };
  }
  return shape;
}

/** The failure of a comparison of two pictures of these sizes, upright. */
export function mismatchOf(one: Size, other: Size): Failure | undefined {
  if (isSameSize(one, other)) return undefined;
  return invalid(
    'otherAssetId',
    `The picture is ${one.width} x ${one.height} px and the other one ${other.width} x ${other.height} px: make them the same size first, such as by a resize before the comparison.`,
  ).failure;
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

import type { OperationStep } from '../../protocol.ts';
import { affine } from './affine.ts';
import { autoOrient } from './auto-orient.ts';
import { bandbool } from './bandbool.ts';
import { blur } from './blur.ts';
import { boolean } from './boolean.ts';
import { border } from './border.ts';
import { clahe } from './clahe.ts';
import { composite } from './composite.ts';
import { convolve } from './convolve.ts';
import { crop } from './crop.ts';
import { decode } from './decode.ts';
import { duotone } from './duotone.ts';
import { ensureAlpha } from './ensure-alpha.ts';
import { extend } from './extend.ts';
import { extract } from './extract.ts';
import { extractChannel } from './extract-channel.ts';
import { flatten } from './flatten.ts';
import { gamma } from './gamma.ts';
import { greyscale } from './greyscale.ts';
import { joinChannel } from './join-channel.ts';
import { keepMetadata } from './keep-metadata.ts';
import { linear } from './linear.ts';
import { median } from './median.ts';
import { flip, flop } from './mirrors.ts';
import { modulate } from './modulate.ts';
import { dilate, erode } from './morphology.ts';
import { negate } from './negate.ts';
import { normalise } from './normalise.ts';
import { opacity } from './opacity.ts';
import type { Operation, StepOperation } from './operation.ts';
import type { SentParams } from './parameter.ts';
import { pixelate } from './pixelate.ts';
import { placeholder } from './placeholder.ts';
import { recomb } from './recomb.ts';
import { redact } from './redact.ts';
import { removeAlpha } from './remove-alpha.ts';
import { resize } from './resize.ts';
import { rotate } from './rotate.ts';
import { roundCorners } from './round-corners.ts';
import { sharpen } from './sharpen.ts';
import { text } from './text.ts';
import { threshold } from './threshold.ts';
import { tint } from './tint.ts';
import { toColourspace } from './to-colourspace.ts';
import { trim } from './trim.ts';
import { unflatten } from './unflatten.ts';
import { avif, gif, jpeg, png, tiff, webp } from './writers.ts';

export type { Operation, SettingOperation, StepOperation } from './operation.ts';

/** Every operation, by the name that steps use. */
export const operations = {
  resize,
  extract,
  crop,
  trim,
  extend,
  rotate,
  autoOrient,
  flip,
  flop,
  affine,
  border,
  roundCorners,
  flatten,
  unflatten,
  removeAlpha,
  ensureAlpha,
  opacity,
  extractChannel,
  joinChannel,
  bandbool,
  boolean,
  greyscale,
  negate,
  gamma,
  linear,
  normalise,
  clahe,
  recomb,
  modulate,
  tint,
  duotone,
  threshold,
  toColourspace,
  blur,
  sharpen,
  median,
  dilate,
  erode,
  convolve,
  pixelate,
  redact,
  composite,
  text,
  placeholder,
  decode,
  keepMetadata,
  jpeg,
  png,
  webp,
  avif,
  gif,
  tiff,
} satisfies Record<string, Operation>;

type OperationName = keyof typeof operations;

/** The names of the operations that change the picture. */
export type StepName = {
  [N in OperationName]: (typeof operations)[N] extends StepOperation ? N : never;
}[OperationName];

/** The arguments that a caller may send to a step of this operation. */
export type ArgumentsOf<N extends StepName> = SentParams<(typeof operations)[N]['declared']>;

/** The operation with that name; undefined when there is none. */
export function operationNamed(name: string): Operation | undefined {
  return Object.hasOwn(operations, name) ? operations[name as OperationName] : undefined;
}

/** The operation with that name that changes the picture; undefined when there is none. */
export function stepNamed(name: string): StepOperation | undefined {
  const operation = operationNamed(name);
  return operation?.kind === 'step' ? operation : undefined;
}

/** A second asset that a step reads in addition to its picture. */
export interface Layer {
  assetId: string;
  /** The parameter that names it. */
  key: string;
}

/** The layers that these steps read, in order. */
export function layersOf(steps: readonly OperationStep[]): Layer[] {
  return steps.flatMap(({ operation, params }) => {
    const key = stepNamed(operation)?.readsSecondAsset;
    return key === undefined ? [] : [{ assetId: String(params[key]), key }];
  });
}

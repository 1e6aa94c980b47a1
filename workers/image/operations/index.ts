import type { OperationStep } from '../../protocol.ts';
import { affineOperation } from './affine.ts';
import { autoOrientOperation } from './auto-orient.ts';
import { bandboolOperation } from './bandbool.ts';
import { blurOperation } from './blur.ts';
import { booleanOperation } from './boolean.ts';
import { borderOperation } from './border.ts';
import { claheOperation } from './clahe.ts';
import { compositeOperation } from './composite.ts';
import { convolveOperation } from './convolve.ts';
import { cropOperation } from './crop.ts';
import { decodeOperation } from './decode.ts';
import { duotoneOperation } from './duotone.ts';
import { ensureAlphaOperation } from './ensure-alpha.ts';
import { extendOperation } from './extend.ts';
import { extractOperation } from './extract.ts';
import { extractChannelOperation } from './extract-channel.ts';
import { flattenOperation } from './flatten.ts';
import { gammaOperation } from './gamma.ts';
import { greyscaleOperation } from './greyscale.ts';
import { joinChannelOperation } from './join-channel.ts';
import { keepMetadataOperation } from './keep-metadata.ts';
import { linearOperation } from './linear.ts';
import { medianOperation } from './median.ts';
import { flipOperation, flopOperation } from './mirrors.ts';
import { modulateOperation } from './modulate.ts';
import { dilateOperation, erodeOperation } from './morphology.ts';
import { negateOperation } from './negate.ts';
import { normaliseOperation } from './normalise.ts';
import { opacityOperation } from './opacity.ts';
import type { Operation, StepOperation } from './operation.ts';
import type { RequestedArguments } from './parameter.ts';
import { pixelateOperation } from './pixelate.ts';
import { placeholderOperation } from './placeholder.ts';
import { recombOperation } from './recomb.ts';
import { redactOperation } from './redact.ts';
import { removeAlphaOperation } from './remove-alpha.ts';
import { resizeOperation } from './resize.ts';
import { rotateOperation } from './rotate.ts';
import { roundCornersOperation } from './round-corners.ts';
import { sharpenOperation } from './sharpen.ts';
import { textOperation } from './text.ts';
import { thresholdOperation } from './threshold.ts';
import { tintOperation } from './tint.ts';
import { toColourspaceOperation } from './to-colourspace.ts';
import { trimOperation } from './trim.ts';
import { unflattenOperation } from './unflatten.ts';
import {
  avifOperation,
  gifOperation,
  jpegOperation,
  pngOperation,
  tiffOperation,
  webpOperation,
} from './writers.ts';

export type { Operation, SettingOperation, StepOperation } from './operation.ts';

/** Every operation, by the name that steps use. */
export const OPERATIONS = {
  resize: resizeOperation,
  extract: extractOperation,
  crop: cropOperation,
  trim: trimOperation,
  extend: extendOperation,
  rotate: rotateOperation,
  autoOrient: autoOrientOperation,
  flip: flipOperation,
  flop: flopOperation,
  affine: affineOperation,
  border: borderOperation,
  roundCorners: roundCornersOperation,
  flatten: flattenOperation,
  unflatten: unflattenOperation,
  removeAlpha: removeAlphaOperation,
  ensureAlpha: ensureAlphaOperation,
  opacity: opacityOperation,
  extractChannel: extractChannelOperation,
  joinChannel: joinChannelOperation,
  bandbool: bandboolOperation,
  boolean: booleanOperation,
  greyscale: greyscaleOperation,
  negate: negateOperation,
  gamma: gammaOperation,
  linear: linearOperation,
  normalise: normaliseOperation,
  clahe: claheOperation,
  recomb: recombOperation,
  modulate: modulateOperation,
  tint: tintOperation,
  duotone: duotoneOperation,
  threshold: thresholdOperation,
  toColourspace: toColourspaceOperation,
  blur: blurOperation,
  sharpen: sharpenOperation,
  median: medianOperation,
  dilate: dilateOperation,
  erode: erodeOperation,
  convolve: convolveOperation,
  pixelate: pixelateOperation,
  redact: redactOperation,
  composite: compositeOperation,
  text: textOperation,
  placeholder: placeholderOperation,
  decode: decodeOperation,
  keepMetadata: keepMetadataOperation,
  jpeg: jpegOperation,
  png: pngOperation,
  webp: webpOperation,
  avif: avifOperation,
  gif: gifOperation,
  tiff: tiffOperation,
} satisfies Record<string, Operation>;

type OperationName = keyof typeof OPERATIONS;

/** The names of the operations that change the picture. */
export type StepName = {
  [N in OperationName]: (typeof OPERATIONS)[N] extends StepOperation ? N : never;
}[OperationName];

/** The arguments that a caller may send for this operation. */
export type StepArguments<N extends StepName> = RequestedArguments<(typeof OPERATIONS)[N]['declared']>;

/** The operation with that name; undefined when there is none. */
export function findOperation(name: string): Operation | undefined {
  return Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name as OperationName] : undefined;
}

/** The operation with that name that changes the picture; undefined when there is none. */
export function stepNamed(name: string): StepOperation | undefined {
  const operation = findOperation(name);
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

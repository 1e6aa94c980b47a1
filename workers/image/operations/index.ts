import type { OperationStep } from '../../protocol.ts';
import {
  bandboolOperation,
  booleanOperation,
  extractChannelOperation,
  joinChannelOperation,
} from './channels.ts';
import {
  duotoneOperation,
  greyscaleOperation,
  modulateOperation,
  recombOperation,
  tintOperation,
  toColourspaceOperation,
} from './colours.ts';
import { compositeOperation } from './composite.ts';
import { cropOperation, extractOperation, trimOperation } from './cuts.ts';
import {
  blurOperation,
  convolveOperation,
  dilateOperation,
  erodeOperation,
  medianOperation,
  pixelateOperation,
  sharpenOperation,
} from './filters.ts';
import { borderOperation, extendOperation, roundCornersOperation } from './margins.ts';
import type { Operation, StepOperation } from './operation.ts';
import type { RequestedArguments } from './parameter.ts';
import { placeholderOperation } from './placeholder.ts';
import { redactOperation } from './redact.ts';
import { resizeOperation } from './resize.ts';
import {
  avifOperation,
  decodeOperation,
  gifOperation,
  jpegOperation,
  keepMetadataOperation,
  pngOperation,
  tiffOperation,
  webpOperation,
} from './settings.ts';
import { textOperation } from './text.ts';
import {
  claheOperation,
  gammaOperation,
  linearOperation,
  negateOperation,
  normaliseOperation,
  thresholdOperation,
} from './tones.ts';
import {
  ensureAlphaOperation,
  flattenOperation,
  opacityOperation,
  removeAlphaOperation,
  unflattenOperation,
} from './transparency.ts';
import {
  affineOperation,
  autoOrientOperation,
  flipOperation,
  flopOperation,
  rotateOperation,
} from './turns.ts';

/** Every operation, keyed by the name that steps use. */
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

/** The operation with this name; undefined when there is none. */
export function findOperation(name: string): Operation | undefined {
  return Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name as OperationName] : undefined;
}

/** The operation with this name that changes the picture; undefined when there is none. */
export function findStepOperation(name: string): StepOperation | undefined {
  const operation = findOperation(name);
  return operation?.kind === 'step' ? operation : undefined;
}

/** A second asset that a step reads in addition to its picture. */
export interface Layer {
  assetId: string;
  /** The parameter of the step that holds the id of the asset. */
  key: string;
}

/** The layers that these steps read, in order. */
export function layersOf(steps: readonly OperationStep[]): Layer[] {
  return steps.flatMap(({ operation, params }) => {
    const key = findStepOperation(operation)?.readsSecondAsset;
    return key === undefined ? [] : [{ assetId: String(params[key]), key }];
  });
}

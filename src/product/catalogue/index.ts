import type { Op } from './op.ts';
import { adjust } from './ops/adjust.ts';
import { alpha } from './ops/alpha.ts';
import { analyze } from './ops/analyze.ts';
import { blur } from './ops/blur.ts';
import { border } from './ops/border.ts';
import { compare } from './ops/compare.ts';
import { compress } from './ops/compress.ts';
import { convert } from './ops/convert.ts';
import { crop } from './ops/crop.ts';
import { duotone } from './ops/duotone.ts';
import { edit } from './ops/edit.ts';
import { expand } from './ops/expand.ts';
import { extractChannel } from './ops/extract-channel.ts';
import { extractFrame } from './ops/extract-frame.ts';
import { flatten } from './ops/flatten.ts';
import { flip } from './ops/flip.ts';
import { generate } from './ops/generate.ts';
import { grayscale } from './ops/grayscale.ts';
import { median } from './ops/median.ts';
import { negate } from './ops/negate.ts';
import { normalize } from './ops/normalize.ts';
import { overlay } from './ops/overlay.ts';
import { pad } from './ops/pad.ts';
import { pixelate } from './ops/pixelate.ts';
import { placeholder } from './ops/placeholder.ts';
import { readMetadata } from './ops/read-metadata.ts';
import { redact } from './ops/redact.ts';
import { removeAlpha } from './ops/remove-alpha.ts';
import { removeBackground } from './ops/remove-background.ts';
import { renderTemplate } from './ops/render-template.ts';
import { resize } from './ops/resize.ts';
import { rotate } from './ops/rotate.ts';
import { roundCorners } from './ops/round-corners.ts';
import { sepia } from './ops/sepia.ts';
import { sharpen } from './ops/sharpen.ts';
import { text } from './ops/text.ts';
import { threshold } from './ops/threshold.ts';
import { thumbnail } from './ops/thumbnail.ts';
import { tint } from './ops/tint.ts';
import { trim } from './ops/trim.ts';
import { upscale } from './ops/upscale.ts';

/** Every op, in the order that the catalogue lists them, each under the name that its file gives it. */
const ALL = [
  resize,
  crop,
  thumbnail,
  rotate,
  flip,
  trim,
  pad,
  border,
  roundCorners,
  convert,
  compress,
  blur,
  sharpen,
  median,
  pixelate,
  grayscale,
  negate,
  sepia,
  normalize,
  adjust,
  tint,
  duotone,
  threshold,
  redact,
  flatten,
  removeAlpha,
  alpha,
  text,
  extractFrame,
  extractChannel,
  placeholder,
  overlay,
  compare,
  renderTemplate,
  readMetadata,
  generate,
  edit,
  upscale,
  removeBackground,
  expand,
  analyze,
] as const satisfies readonly Op[];

export type OpName = (typeof ALL)[number]['op'];

export const OPS = Object.fromEntries(ALL.map((op) => [op.op, op])) as {
  [N in OpName]: Extract<(typeof ALL)[number], { op: N }>;
};

/** The op of this name, if there is one. */
export function findOp(name: string): Op | undefined {
  return Object.hasOwn(OPS, name) ? OPS[name as OpName] : undefined;
}

/** Every op's name, in the catalogue's order. */
export const OP_NAMES = Object.keys(OPS) as OpName[];

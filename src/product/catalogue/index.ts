import type { Within } from '../../platform/http/errors/violations.ts';
import { nearest } from '../../platform/ids/nearest.ts';
import type { Op } from './op.ts';
import { adjust } from './ops/adjust.ts';
import { analyze } from './ops/analyze.ts';
import { blur } from './ops/blur.ts';
import { compare } from './ops/compare.ts';
import { compress } from './ops/compress.ts';
import { convert } from './ops/convert.ts';
import { crop } from './ops/crop.ts';
import { edit } from './ops/edit.ts';
import { expand } from './ops/expand.ts';
import { extractFrame } from './ops/extract-frame.ts';
import { flatten } from './ops/flatten.ts';
import { flip } from './ops/flip.ts';
import { generate } from './ops/generate.ts';
import { negate } from './ops/negate.ts';
import { overlay } from './ops/overlay.ts';
import { pad } from './ops/pad.ts';
import { readCodes, readText } from './ops/read.ts';
import { readMetadata } from './ops/read-metadata.ts';
import { removeBackground } from './ops/remove-background.ts';
import { renderTemplate } from './ops/render-template.ts';
import { resize } from './ops/resize.ts';
import { rotate } from './ops/rotate.ts';
import { sepia } from './ops/sepia.ts';
import { sharpen } from './ops/sharpen.ts';
import { threshold } from './ops/threshold.ts';
import { thumbnail } from './ops/thumbnail.ts';
import { trim } from './ops/trim.ts';
import { upscale } from './ops/upscale.ts';
import { operationOp } from './pixel-op.ts';

/**
 * Every op, in the order of the catalogue. An op that is one operation of a worker has only a name and an example here;
 * any other op has a file.
 */
const ALL = [
  resize,
  crop,
  thumbnail,
  rotate,
  flip,
  trim,
  pad,
  operationOp('border', { op: 'border', example: { width: 8, color: '#333333' } }),
  operationOp('roundCorners', { op: 'round_corners', example: { radius: '50%', format: 'png' } }),
  convert,
  compress,
  blur,
  sharpen,
  operationOp('median', { op: 'median', example: { size: 5 } }),
  operationOp('pixelate', { op: 'pixelate', example: { size: 16 } }),
  operationOp('greyscale', { op: 'grayscale', example: { format: 'png' } }),
  negate,
  sepia,
  operationOp('normalise', { op: 'normalize', example: { lower: 1, upper: 99 } }),
  adjust,
  operationOp('tint', { op: 'tint', example: { color: '#ff8800' } }),
  operationOp('duotone', { op: 'duotone', example: { dark: '#1b1464', light: '#ffe26a' } }),
  threshold,
  operationOp('redact', {
    op: 'redact',
    example: { regions: [{ x: 40, y: 60, width: 200, height: 80 }], style: 'fill' },
  }),
  flatten,
  operationOp('removeAlpha', { op: 'remove_alpha', example: { format: 'png' } }),
  operationOp('opacity', { op: 'alpha', example: { opacity: 0.5, format: 'png' } }),
  operationOp('text', {
    op: 'text',
    example: { text: '© Example', position: 'southeast', size: 24, opacity: 0.7 },
  }),
  extractFrame,
  operationOp('extractChannel', { op: 'extract_channel', example: { channel: 'red', format: 'png' } }),
  operationOp('placeholder', {
    op: 'placeholder',
    description:
      "Makes a tiny image to show while the real one loads. The ThumbHash and the BlurHash of the real one are in X-Service-Thumbhash and X-Service-Blurhash, and in the image of a job's result.",
    example: { kind: 'blur', format: 'webp' },
  }),
  overlay,
  compare,
  readText,
  readCodes,
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

/** The op of this name, if one was given and there is one. */
export function findOp(name: string | undefined): Op | undefined {
  return name !== undefined && Object.hasOwn(OPS, name) ? OPS[name as OpName] : undefined;
}

/** Every op's name, in the catalogue's order. */
export const OP_NAMES = Object.keys(OPS) as OpName[];

/** Where a field that stands beside an op belongs: among its parameters. */
export const IN_PARAMETERS: Within = {
  field: 'parameters',
  names({ op: sent }) {
    const name = String(sent);
    const op = findOp(name) ?? findOp(nearest(name, OP_NAMES));
    return Object.keys(op?.parameters.properties ?? {});
  },
};

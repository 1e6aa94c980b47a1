import { OPERATIONS } from '../../../workers/image/operations/index.ts';
import type { WithinKeyword } from '../../platform/http/errors/violations.ts';
import { likelyNames, nearestName } from '../../platform/ids/nearest.ts';
import { distinctValues, isJsonObject } from '../../platform/values/json.ts';
import type { Op } from './op.ts';
import { compressOp, convertOp } from './ops/encoding.ts';
import { adjustOp, flattenOp, sepiaOp, sharpenOp, thresholdOp } from './ops/filters.ts';
import { cropOp, extractFrameOp, flipOp, padOp, resizeOp, thumbnailOp } from './ops/geometry.ts';
import { analyzeOp, editOp, expandOp, generateOp, removeBackgroundOp, upscaleOp } from './ops/models.ts';
import { readCodesOp, readMetadataOp, readTextOp } from './ops/reading.ts';
import { renderTemplateOp } from './ops/render-template.ts';
import { compareOp, overlayOp } from './ops/second-pictures.ts';
import { adaptParameter, OUTPUT_FORMATS } from './parameters.ts';
import { defineImageOp } from './pixel-op.ts';

const { blur, rotate, trim } = OPERATIONS;

/**
 * Every op, in the order of the catalogue. An op that is one operation of a worker has only what differs from it here;
 * any other op is defined in the folder ops.
 */
const ALL_OPS = [
  resizeOp,
  cropOp,
  thumbnailOp,
  defineImageOp('rotate', {
    op: 'rotate',
    description: 'Turns the picture clockwise by any angle; corners that open up take the background.',
    parameters: { angle: rotate.declared.angle },
    example: { angle: 90 },
  }),
  flipOp,
  defineImageOp('trim', {
    op: 'trim',
    description: 'Cuts away edges that look like the background, by default like the top left pixel.',
    parameters: { threshold: trim.declared.threshold },
    example: { threshold: 10 },
  }),
  padOp,
  defineImageOp('border', { op: 'border', example: { width: 8, color: '#333333' } }),
  defineImageOp('roundCorners', { op: 'round_corners', example: { radius: '50%', format: 'png' } }),
  convertOp,
  compressOp,
  defineImageOp('blur', {
    op: 'blur',
    description: 'Blurs the whole picture evenly, by as much as sigma says.',
    parameters: { sigma: adaptParameter(blur.declared.sigma, { maximum: 250 }) },
    example: { sigma: 5 },
  }),
  sharpenOp,
  defineImageOp('median', { op: 'median', example: { size: 5 } }),
  defineImageOp('pixelate', { op: 'pixelate', example: { size: 16 } }),
  defineImageOp('greyscale', { op: 'grayscale', example: { format: 'png' } }),
  defineImageOp('negate', {
    op: 'negate',
    description: 'Turns every colour into its opposite; transparency stays.',
    parameters: {},
    example: { format: 'png' },
  }),
  sepiaOp,
  defineImageOp('normalise', { op: 'normalize', example: { lower: 1, upper: 99 } }),
  adjustOp,
  defineImageOp('tint', { op: 'tint', example: { color: '#ff8800' } }),
  defineImageOp('duotone', { op: 'duotone', example: { dark: '#1b1464', light: '#ffe26a' } }),
  thresholdOp,
  defineImageOp('redact', {
    op: 'redact',
    example: { regions: [{ x: 40, y: 60, width: 200, height: 80 }], style: 'fill' },
  }),
  flattenOp,
  defineImageOp('removeAlpha', { op: 'remove_alpha', example: { format: 'png' } }),
  defineImageOp('opacity', { op: 'alpha', example: { opacity: 0.5, format: 'png' } }),
  defineImageOp('text', {
    op: 'text',
    example: { text: '© Example', position: 'southeast', size: 24, opacity: 0.7 },
  }),
  extractFrameOp,
  defineImageOp('extractChannel', { op: 'extract_channel', example: { channel: 'red', format: 'png' } }),
  defineImageOp('placeholder', {
    op: 'placeholder',
    description:
      "Makes a tiny image to show while the real one loads. The ThumbHash and the BlurHash of the real one are in X-Service-Thumbhash and X-Service-Blurhash, and in the image of a job's result.",
    example: { kind: 'blur', format: 'webp' },
  }),
  overlayOp,
  compareOp,
  readTextOp,
  readCodesOp,
  renderTemplateOp,
  readMetadataOp,
  generateOp,
  editOp,
  upscaleOp,
  removeBackgroundOp,
  expandOp,
  analyzeOp,
] as const satisfies readonly Op[];

export type OpName = (typeof ALL_OPS)[number]['op'];

export const OPS = Object.fromEntries(ALL_OPS.map((op) => [op.op, op])) as {
  [N in OpName]: Extract<(typeof ALL_OPS)[number], { op: N }>;
};

/** The op with this name; undefined for an unknown name, or without one. */
export function findOp(name: string | undefined): Op | undefined {
  return name !== undefined && Object.hasOwn(OPS, name) ? OPS[name as OpName] : undefined;
}

/** The names of all ops, in the order of the catalogue. */
export const OP_NAMES = Object.keys(OPS) as OpName[];

/** The context for an error about a field that was sent beside the op, but belongs in its `parameters`. */
export const WITHIN_PARAMETERS: WithinKeyword = {
  field: 'parameters',
  names: (sent) => Object.keys(findMeantOp(sent)?.parameters.properties ?? {}),
  keyed: findStepMeantByKey,
  checks: (sent) => findMeantOp(sent)?.runs === 'pass',
};

/** The op of a call or a step, even if it is misspelt, or named by a path such as `/image/resize`. */
function findMeantOp({ op }: Readonly<Record<string, unknown>>): Op | undefined {
  const name = String(op).replace(/^.*\//, '');
  return findOp(name) ?? findOp(nearestName(name, OP_NAMES));
}

/**
 * The context for an error about `parameters` without an op beside them, such as those of variants: the field may
 * belong to any op.
 */
export const WITHIN_ANY_PARAMETERS: WithinKeyword = {
  field: 'parameters',
  names: () => distinctValues(ALL_OPS.flatMap(({ parameters }) => Object.keys(parameters.properties))),
};

/**
 * The step that was probably meant by a key and its value: `resize` with its parameters, `grayscale` with true, `blur`
 * with the value of its only parameter, or `webp` with the parameters of a conversion. Undefined if the key is no such
 * name.
 */
export function findStepMeantByKey(
  key: string,
  value: unknown,
): { op: string; parameters?: Record<string, unknown> } | undefined {
  const [format] = likelyNames(key, OUTPUT_FORMATS, Number.POSITIVE_INFINITY);
  if (format !== undefined && (value === true || isJsonObject(value)))
    return { op: 'convert', parameters: { format, ...(isJsonObject(value) && value) } };
  const [name, ...others] = likelyNames(key, OP_NAMES);
  const op = others.length === 0 ? findOp(name) : undefined;
  if (op === undefined) return undefined;
  if (value === true || value === null) return { op: op.op };
  if (isJsonObject(value)) return { op: op.op, ...(Object.keys(value).length > 0 && { parameters: value }) };
  const exampleNames = op.runs === 'pass' ? Object.keys(op.example.parameters) : [];
  const [needed, ...more] = (op.parameters.required ?? exampleNames) as string[];
  return needed === undefined || more.length > 0 ? undefined : { op: op.op, parameters: { [needed]: value } };
}

import { OPERATIONS } from '../../../../workers/image/operations/index.ts';
import * as parameter from '../../../../workers/image/operations/parameter.ts';
import { MAX_EDGE_PX } from '../../../../workers/image/pixels/geometry.ts';
import type { ParameterViolation } from '../op.ts';
import { adaptParameter } from '../parameters.ts';
import { definePixelOp, operationStep } from '../pixel-op.ts';

const { background: _, ...OWN } = OPERATIONS.resize.declared;

export const resizeOp = definePixelOp({
  op: 'resize',
  description: OPERATIONS.resize.description,
  parameters: {
    ...OWN,
    dpr: parameter.number(1, 5, 'Screen pixels per pixel asked for: multiplies width and height.', {
      default: 1,
    }),
  },
  example: { width: 800, height: 600, fit: 'cover', gravity: 'attention', format: 'webp' },
  findInvalidParameter(given): ParameterViolation | undefined {
    const refused = OPERATIONS.resize.findInvalidArgument(given);
    if (refused !== undefined) return refused;
    const largest = Math.max(given.width ?? 0, given.height ?? 0) * (given.dpr ?? 1);
    if (largest > MAX_EDGE_PX) {
      return {
        key: 'dpr',
        message: `dpr makes an edge of ${Math.round(largest)} pixels, but at most ${MAX_EDGE_PX} are allowed: send a smaller dpr or size.`,
        details: { received: given.dpr, limit: MAX_EDGE_PX },
      };
    }
    return focalPointViolation(given);
  },
  compile({ width, height, dpr, fit, gravity, focalX, focalY, kernel, enlarge, linear, background }) {
    const scaledEdge = (edge: number | undefined) => edge && Math.round(edge * dpr);
    const params = { fit, gravity, focalX, focalY, kernel, enlarge, linear, background };
    return {
      steps: [operationStep('resize', { width: scaledEdge(width), height: scaledEdge(height), ...params })],
    };
  },
});

/** The violation when both a focal point and a gravity are sent. Each of them determines what a crop keeps. */
function focalPointViolation(given: {
  gravity?: string | undefined;
  focalX?: number | undefined;
  focalY?: number | undefined;
}): ParameterViolation | undefined {
  if (given.gravity === undefined || (given.focalX === undefined && given.focalY === undefined))
    return undefined;
  return {
    key: 'gravity',
    message: 'gravity and a focal point exclude each other: send gravity, or focalX and focalY.',
    details: { suggest: ['gravity', 'focalX', 'focalY'] },
  };
}

const EXTRACT_ARGUMENTS = OPERATIONS.extract.declared;
const CROP_ARGUMENTS = OPERATIONS.crop.declared;
const RECTANGLE_PARAMETERS = ['x', 'y', 'width', 'height'] as const;

export const cropOp = definePixelOp({
  op: 'crop',
  description: 'Cuts out a rectangle given in pixels, or the largest one of an aspect ratio.',
  parameters: {
    x: EXTRACT_ARGUMENTS.left,
    y: EXTRACT_ARGUMENTS.top,
    width: parameter.optional(
      adaptParameter(EXTRACT_ARGUMENTS.width, {
        description: 'Width of the rectangle in pixels; needs height.',
      }),
    ),
    height: parameter.optional(
      adaptParameter(EXTRACT_ARGUMENTS.height, {
        description: 'Height of the rectangle in pixels; needs width.',
      }),
    ),
    aspect: parameter.optional(
      adaptParameter(CROP_ARGUMENTS.aspect, {
        description:
          'Shape of the largest rectangle to keep, such as 16:9; instead of x, y, width and height.',
      }),
    ),
    gravity: adaptParameter(CROP_ARGUMENTS.gravity, {
      description: `With aspect, the part that is kept; center when left out. ${parameter.ATTENTION_HINT}`,
    }),
    focalX: CROP_ARGUMENTS.focalX,
    focalY: CROP_ARGUMENTS.focalY,
  },
  example: { aspect: '16:9', gravity: 'attention' },
  findInvalidParameter(given) {
    const rectangle = RECTANGLE_PARAMETERS.find((name) => given[name] !== undefined);
    if (given.aspect !== undefined && rectangle !== undefined) {
      return {
        key: rectangle,
        message: `${rectangle} and aspect exclude each other: send a rectangle or an aspect.`,
        details: { suggest: ['aspect', rectangle] },
      };
    }
    if (given.aspect !== undefined) return focalPointViolation(given);
    const missing = (['width', 'height'] as const).filter((name) => given[name] === undefined);
    if (missing[0] !== undefined) {
      return {
        key: missing[0],
        message: `${missing.join(' and ')} ${missing.length > 1 ? 'are' : 'is'} missing: a crop takes x, y, width and height, or aspect.`,
        details: { missing },
      };
    }
    const aimed = (['gravity', 'focalX', 'focalY'] as const).find((name) => given[name] !== undefined);
    if (aimed === undefined) return undefined;
    const message = `${aimed} works with aspect only: leave it out, or send aspect.`;
    return { key: aimed, message, details: { suggest: ['aspect', aimed] } };
  },
  renamed: { left: ['x'], top: ['y'] },
  compile({ x, y, width, height, aspect, gravity, focalX, focalY }) {
    // `width` and `height` are present: `findInvalidParameter` requires both for a crop without an aspect.
    const rectangle = { left: x, top: y, width: width as number, height: height as number };
    return {
      steps: [
        aspect === undefined
          ? operationStep('extract', rectangle)
          : operationStep('crop', { aspect, gravity, focalX, focalY }),
      ],
    };
  },
});

export const thumbnailOp = definePixelOp({
  op: 'thumbnail',
  description: 'Makes a square preview that keeps the most interesting part of the picture.',
  parameters: {
    size: parameter.integer(16, 2048, 'Edge of the square in pixels.', { default: 256 }),
    gravity: parameter.gravity('Which part of the picture fills the square.', { default: 'attention' }),
  },
  example: { size: 256, format: 'webp' },
  renamed: { width: ['size'], height: ['size'], fit: [], enlarge: [] },
  compile: ({ size, gravity }) => ({
    steps: [operationStep('resize', { width: size, height: size, fit: 'cover', gravity, enlarge: true })],
  }),
});

const FLIP_STEPS = {
  horizontal: [operationStep('flop', {})],
  vertical: [operationStep('flip', {})],
  both: [operationStep('flip', {}), operationStep('flop', {})],
};

export const flipOp = definePixelOp({
  op: 'flip',
  description: 'Mirrors the picture left to right, top to bottom, or both.',
  parameters: {
    axis: parameter.choice(
      ['horizontal', 'vertical', 'both'],
      'horizontal mirrors left and right, vertical mirrors top and bottom.',
      { default: 'horizontal' },
    ),
  },
  example: { axis: 'horizontal' },
  compile: ({ axis }) => ({ steps: FLIP_STEPS[axis] }),
});

const MAX_MARGIN_PX = 8192;
const PAD_SIDES = ['top', 'right', 'bottom', 'left'] as const;

export const padOp = definePixelOp({
  op: 'pad',
  description: 'Adds room around the picture, filled with a colour or with what lies at its edges.',
  parameters: {
    top: parameter.optional(parameter.integer(0, MAX_MARGIN_PX, 'Pixels to add above.')),
    right: parameter.optional(parameter.integer(0, MAX_MARGIN_PX, 'Pixels to add on the right.')),
    bottom: parameter.optional(parameter.integer(0, MAX_MARGIN_PX, 'Pixels to add below.')),
    left: parameter.optional(parameter.integer(0, MAX_MARGIN_PX, 'Pixels to add on the left.')),
    all: parameter.optional(
      parameter.integer(0, MAX_MARGIN_PX, 'Pixels to add on every side; instead of naming sides.'),
    ),
    mode: OPERATIONS.extend.declared.extendWith,
  },
  example: { all: 24, background: '#ffffff' },
  findInvalidParameter(given) {
    const side = PAD_SIDES.find((name) => given[name] !== undefined);
    if (given.all !== undefined && side !== undefined) {
      const message = `${side} and all exclude each other: send sides or all.`;
      return { key: side, message, details: { suggest: ['all', side] } };
    }
    if (given.all === undefined && side === undefined) {
      return {
        key: 'all',
        message: 'No side is named: send all, or at least one of top, right, bottom and left.',
        details: { missing: ['all', ...PAD_SIDES], suggest: ['all', ...PAD_SIDES] },
      };
    }
    return undefined;
  },
  renamed: { top: ['all'], right: ['all'], bottom: ['all'], left: ['all'], extendWith: ['mode'] },
  compile({ top, right, bottom, left, all = 0, mode, background }) {
    const sides = { top: top ?? all, right: right ?? all, bottom: bottom ?? all, left: left ?? all };
    return { steps: [operationStep('extend', { ...sides, extendWith: mode, background })] };
  },
});

export const extractFrameOp = definePixelOp({
  op: 'extract_frame',
  description: 'Takes one frame out of an animation, or one page out of a document.',
  parameters: { frame: parameter.integer(0, 99_999, 'Index of the frame, from 0.', { default: 0 }) },
  example: { frame: 0, format: 'png' },
  compile: () => ({}),
});

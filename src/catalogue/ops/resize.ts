import type { Violation } from '../op.ts';
import { choice, FOCAL, flag, gravity, integer, number, optional } from '../parameter.ts';
import { pixelOp, step } from '../pixel-op.ts';

const MAX_EDGE = 16384;

export const resize = pixelOp({
  op: 'resize',
  description:
    'Scales the picture to a width, a height or both, keeping its shape unless fit says otherwise.',
  parameters: {
    width: optional(integer(1, MAX_EDGE, 'Width in pixels; width, height or both are needed.')),
    height: optional(integer(1, MAX_EDGE, 'Height in pixels; width, height or both are needed.')),
    fit: choice(
      ['cover', 'contain', 'fill', 'inside', 'outside'],
      'How the picture meets width and height: cover crops, contain pads, fill stretches, inside stays within, outside reaches both.',
      { default: 'inside' },
    ),
    gravity: optional(
      gravity('With fit cover or contain, the part that is kept or the place in the padding.'),
    ),
    ...FOCAL,
    kernel: optional(
      choice(
        ['nearest', 'linear', 'cubic', 'mitchell', 'lanczos2', 'lanczos3'],
        'How pixels are weighed; nearest keeps hard edges, lanczos3 is what the service takes when left out.',
      ),
    ),
    enlarge: flag('Whether a picture smaller than asked for is scaled up.', { default: false }),
    linear: optional(
      flag(
        'Whether the picture is made smaller in linear light, which keeps the brightness of fine patterns and takes longer; false when left out.',
      ),
    ),
    dpr: number(1, 5, 'Pixels of the screen for each pixel asked for: multiplies width and height.', {
      default: 1,
    }),
  },
  example: { width: 800, height: 600, fit: 'cover', gravity: 'attention', format: 'webp' },
  rule(given): Violation | undefined {
    if (given.width === undefined && given.height === undefined) {
      return {
        key: 'width',
        message: 'width and height are both missing: send at least one.',
        details: { missing: ['width', 'height'] },
      };
    }
    const largest = Math.max(given.width ?? 0, given.height ?? 0) * (given.dpr ?? 1);
    if (largest > MAX_EDGE) {
      return {
        key: 'dpr',
        message: `dpr makes an edge of ${Math.round(largest)} pixels, but at most ${MAX_EDGE} are allowed: send a smaller dpr or size.`,
        details: { received: given.dpr, limit: MAX_EDGE },
      };
    }
    return focalViolation(given);
  },
  compile({ width, height, dpr, fit, gravity, focalX, focalY, kernel, enlarge, linear, background }) {
    const scaled = (edge: number | undefined) => edge && Math.round(edge * dpr);
    const params = { fit, gravity, focalX, focalY, kernel, enlarge, linear, background };
    return { steps: [step('resize', { width: scaled(width), height: scaled(height), ...params })] };
  },
});

/** A focal point and a gravity both say what a crop keeps: only one may. */
export function focalViolation(given: {
  gravity?: string;
  focalX?: number;
  focalY?: number;
}): Violation | undefined {
  if (given.gravity === undefined || (given.focalX === undefined && given.focalY === undefined))
    return undefined;
  return {
    key: 'gravity',
    message: 'gravity stands beside a focal point: send gravity, or focalX and focalY.',
  };
}

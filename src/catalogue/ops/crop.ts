import { Type } from '@sinclair/typebox';
import { FOCAL, gravity, integer, optional } from '../parameter.ts';
import { pixelOp, step } from '../pixel-op.ts';
import { focalViolation } from './resize.ts';

const RECTANGLE = ['x', 'y', 'width', 'height'] as const;

export const crop = pixelOp({
  op: 'crop',
  description: 'Cuts out a rectangle given in pixels, or the largest one of an aspect ratio.',
  parameters: {
    x: optional(integer(0, 100_000, 'Left edge of the rectangle in pixels; 0 when left out.')),
    y: optional(integer(0, 100_000, 'Top edge of the rectangle in pixels; 0 when left out.')),
    width: optional(integer(1, 100_000, 'Width of the rectangle in pixels; comes with height.')),
    height: optional(integer(1, 100_000, 'Height of the rectangle in pixels; comes with width.')),
    aspect: optional(
      Type.String({
        pattern: '^[1-9]\\d{0,4}:[1-9]\\d{0,4}$',
        examples: ['16:9'],
        description:
          'Shape of the largest rectangle to keep, such as 16:9; instead of x, y, width and height.',
      }),
    ),
    gravity: optional(gravity('With aspect, the part that is kept; center when left out.')),
    ...FOCAL,
  },
  example: { aspect: '16:9', gravity: 'attention' },
  rule(given) {
    const rectangle = RECTANGLE.find((name) => given[name] !== undefined);
    if (given.aspect !== undefined && rectangle !== undefined) {
      return {
        key: rectangle,
        message: `${rectangle} stands beside aspect: send a rectangle or an aspect, not both.`,
      };
    }
    if (given.aspect !== undefined) return focalViolation(given);
    const missing = (['width', 'height'] as const).filter((name) => given[name] === undefined);
    if (missing[0] !== undefined) {
      return {
        key: missing[0],
        message: `${missing.join(' and ')} missing: a crop takes x, y, width and height, or aspect.`,
        details: { missing },
      };
    }
    const aimed = (['gravity', 'focalX', 'focalY'] as const).find((name) => given[name] !== undefined);
    return aimed && { key: aimed, message: `${aimed} works with aspect only: leave it out, or send aspect.` };
  },
  renamed: { left: ['x'], top: ['y'] },
  compile({ x, y, width, height, aspect, gravity, focalX, focalY }) {
    if (aspect !== undefined) return { steps: [step('crop', { aspect, gravity, focalX, focalY })] };
    return { steps: [step('extract', { left: x ?? 0, top: y ?? 0, width, height })] };
  },
});

import { OPERATIONS } from '../../../../workers/image/operations/index.ts';
import { optionalParameter } from '../../../../workers/image/operations/parameter.ts';
import { adaptParameter } from '../parameter.ts';
import { definePixelOp, operationStep } from '../pixel-op.ts';
import { focalPointViolation } from './resize.ts';

const RECTANGLE = OPERATIONS.extract.declared;
const SHAPE = OPERATIONS.crop.declared;
const EDGES = ['x', 'y', 'width', 'height'] as const;

export const cropOp = definePixelOp({
  op: 'crop',
  description: 'Cuts out a rectangle given in pixels, or the largest one of an aspect ratio.',
  parameters: {
    x: RECTANGLE.left,
    y: RECTANGLE.top,
    width: optionalParameter(
      adaptParameter(RECTANGLE.width, { description: 'Width of the rectangle in pixels; needs height.' }),
    ),
    height: optionalParameter(
      adaptParameter(RECTANGLE.height, { description: 'Height of the rectangle in pixels; needs width.' }),
    ),
    aspect: optionalParameter(
      adaptParameter(SHAPE.aspect, {
        description:
          'Shape of the largest rectangle to keep, such as 16:9; instead of x, y, width and height.',
      }),
    ),
    gravity: adaptParameter(SHAPE.gravity, {
      description: 'With aspect, the part that is kept; center when left out.',
    }),
    focalX: SHAPE.focalX,
    focalY: SHAPE.focalY,
  },
  example: { aspect: '16:9', gravity: 'attention' },
  rule(given) {
    const rectangle = EDGES.find((name) => given[name] !== undefined);
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
    // The rule has checked that a crop without an aspect has both sides.
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

import type { Size } from '../../formats/size.ts';
import { backgroundOrFill, isTranslucentColour, leavesTransparency } from '../colour/colour.ts';
import { rotatedBoundingSize, sizeLimitError } from '../pixels/geometry.ts';
import { turnPixels } from '../pixels/turn.ts';
import { BadArgumentError } from '../refusal.ts';
import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import * as parameter from './parameter.ts';

export const autoOrient = defineStepOperation({
  description:
    'Turns the picture upright by its EXIF orientation. Every pass begins with that, so the step changes nothing.',
  parameters: {},
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  cpuMsPerMegapixel: 10,
  commutesWithFlatten: true,
  async apply() {},
});

export const rotate = defineStepOperation({
  description: 'Turns the picture clockwise; corners that open up take the background.',
  parameters: {
    angle: parameter.number(-360, 360, 'Degrees clockwise; a negative angle turns the other way.'),
    background: parameter.optional(parameter.colour('Colour of the corners that open up.')),
  },
  grey: 'keeps',
  copies: 3,
  alphaAfter({ angle, background }) {
    if (angle % 90 === 0) return 'kept';
    return leavesTransparency(background) ? true : undefined;
  },
  changesNothing: ({ angle }) => angle % 360 === 0,
  cpuMsPerMegapixel: ({ angle }) => (angle % 90 === 0 ? 10 : 100),
  frames: 'each',
  // A turn by a multiple of 90 degrees uncovers no corners.
  commutesWithFlatten: ({ angle }) => angle % 90 === 0,
  findFitError: (picture, { angle }) =>
    angle % 90 === 0 ? undefined : sizeLimitError(rotatedBoundingSize(picture, angle)),
  size: (input, { angle }) => rotatedBoundingSize(input, angle),
  async apply(picture, { angle, background }, { fill, sharp }) {
    if (angle % 360 === 0) return;
    if (angle % 90 === 0) {
      (await picture.at('turn')).rotate(angle);
      if (angle % 180 !== 0) picture.setSize({ width: picture.height, height: picture.width });
      return;
    }
    const corners = backgroundOrFill(fill, background);
    picture.replace(await turnPixels(await picture.pixels(), angle, corners, sharp));
  },
});

const MIRROR_PROPERTIES = {
  ...IN_PLACE_EFFECTS,
  parameters: {},
  grey: 'keeps',
  cpuMsPerMegapixel: 3,
  commutesWithFlatten: true,
} as const;

export const flip = defineStepOperation({
  ...MIRROR_PROPERTIES,
  description: 'Mirrors the picture top to bottom.',
  // Flipping the whole strip would reverse the order of the frames.
  frames: 'each',
  async apply(picture) {
    (await picture.at('mirror')).flip();
  },
});

export const flop = defineStepOperation({
  ...MIRROR_PROPERTIES,
  description: 'Mirrors the picture left to right.',
  async apply(picture) {
    (await picture.at('mirror')).flop();
  },
});

const MAX_OFFSET_PX = 16384;
/**
 * The smallest share of its area that a picture may keep. With a smaller share, less than a pixel would be left of any
 * picture.
 */
const MIN_DETERMINANT = 1e-8;
/** CPU milliseconds per megapixel of each interpolator. */
const AFFINE_MS_PER_MEGAPIXEL = {
  nearest: 35,
  bilinear: 35,
  bicubic: 35,
  locallyBoundedBicubic: 250,
  nohalo: 520,
  vertexSplitQuadraticBasisSpline: 35,
};
const INTERPOLATORS = Object.keys(AFFINE_MS_PER_MEGAPIXEL) as (keyof typeof AFFINE_MS_PER_MEGAPIXEL)[];

export const affine = defineStepOperation({
  description: 'Maps the picture by a 2 × 2 matrix, with offsets before and after.',
  parameters: {
    matrix: parameter.numberList(4, 4, 'The matrix, row by row: a, b, c, d.'),
    background: parameter.optional(parameter.colour('Colour of the area that opens up.')),
    idx: parameter.number(-MAX_OFFSET_PX, MAX_OFFSET_PX, 'Offset across, before.', { default: 0 }),
    idy: parameter.number(-MAX_OFFSET_PX, MAX_OFFSET_PX, 'Offset down, before.', { default: 0 }),
    odx: parameter.number(-MAX_OFFSET_PX, MAX_OFFSET_PX, 'Offset across, after.', { default: 0 }),
    ody: parameter.number(-MAX_OFFSET_PX, MAX_OFFSET_PX, 'Offset down, after.', { default: 0 }),
    interpolator: parameter.choice(INTERPOLATORS, 'How pixels between pixels are made.', {
      default: 'bicubic',
    }),
  },
  grey: 'keeps',
  copies: 2,
  alphaAfter: ({ background }) => (isTranslucentColour(background) ? true : undefined),
  cpuMsPerMegapixel: ({ interpolator }) => AFFINE_MS_PER_MEGAPIXEL[interpolator],
  frames: 'each',
  sizeAfter: 'found',
  findInvalidArgument({ matrix: [a = 1, b = 0, c = 0, d = 1] }) {
    if (Math.abs(a * d - b * c) >= MIN_DETERMINANT) return undefined;
    const message = 'matrix leaves no area of a picture: make a × d differ from b × c.';
    return new BadArgumentError('matrix', message);
  },
  findFitError: (picture, { matrix }) => sizeLimitError(mappedSize(picture, matrix), picture.frames),
  size: (input, { matrix }) => mappedSize(input, matrix),
  async apply(picture, { matrix, background, interpolator, ...offsets }, { sharp, fill }) {
    const colour = backgroundOrFill(fill, background);
    picture.setEstimatedSize(mappedSize(picture, matrix));
    const options = {
      ...offsets,
      background: colour,
      interpolator: sharp.interpolators[interpolator],
    };
    (await picture.at('affine')).affine(matrix as [number, number, number, number], options);
    picture.recordBackground(colour);
  },
});

/** Size of the box around the mapped picture. */
function mappedSize({ width, height }: Size, [a = 1, b = 0, c = 0, d = 1]: number[]): Size {
  return {
    width: Math.max(1, Math.ceil(Math.abs(a) * width + Math.abs(b) * height)),
    height: Math.max(1, Math.ceil(Math.abs(c) * width + Math.abs(d) * height)),
  };
}

import type { Sharp, TrimOptions } from 'sharp';
import type { Size } from '../../formats/size.ts';
import { encodeOutput } from '../../transport/output.ts';
import { parseColour } from '../colour/colour.ts';
import { type Box, boundingBoxOf, largestSizeOfRatio, sizeLimitError } from '../pixels/geometry.ts';
import { BadArgumentError } from '../refusal.ts';
import { cropAnchorOf, cropToBox, scaleAndCrop } from '../sizing.ts';
import { defineStepOperation } from './operation.ts';
import * as parameter from './parameter.ts';
import { Type } from './schema.ts';

export const crop = defineStepOperation({
  description: 'Cuts out the largest rectangle of an aspect ratio.',
  parameters: {
    aspect: Type.String({
      pattern: '^[1-9]\\d{0,4}:[1-9]\\d{0,4}$',
      examples: ['16:9'],
      description: 'Width to height, such as 16:9.',
    }),
    gravity: parameter.optional(parameter.gravity('The part that is kept; center when left out.')),
    ...parameter.FOCAL_POINT,
  },
  grey: 'keeps',
  copies: 0,
  alphaAfter: 'kept',
  cpuMsPerMegapixel: 20,
  commutesWithFlatten: true,
  findFitError: (picture, { aspect }) => sizeLimitError(croppedSize(picture, aspect), picture.frames),
  size: (input, { aspect }) => croppedSize(input, aspect),
  async apply(picture, { aspect, ...aim }) {
    const scaled = { width: picture.width, height: picture.height };
    await scaleAndCrop(picture, { scaled, result: croppedSize(picture, aspect) }, cropAnchorOf(aim));
  },
});

function croppedSize(input: Size, aspect: string): Size {
  const [across = 1, down = 1] = aspect.split(':').map(Number);
  return largestSizeOfRatio(input, across / down);
}

const MAX_COORDINATE_PX = 100_000;

export const extract = defineStepOperation({
  description: 'Cuts out a rectangle given in pixels; it must lie within the picture.',
  parameters: {
    left: parameter.optional(
      parameter.integer(0, MAX_COORDINATE_PX, 'Left edge of the rectangle in pixels; 0 when left out.'),
    ),
    top: parameter.optional(
      parameter.integer(0, MAX_COORDINATE_PX, 'Top edge of the rectangle in pixels; 0 when left out.'),
    ),
    width: parameter.integer(1, MAX_COORDINATE_PX, 'Width in pixels.'),
    height: parameter.integer(1, MAX_COORDINATE_PX, 'Height in pixels.'),
  },
  grey: 'keeps',
  copies: 0,
  sizeAfter: 'given',
  alphaAfter: 'kept',
  cpuMsPerMegapixel: 2,
  commutesWithFlatten: true,
  size: (_, { width, height }) => ({ width, height }),
  findFitError: (picture, { left = 0, top = 0, width, height }) =>
    rectangleOutsideError('left', left, 'width', width, picture.width) ??
    rectangleOutsideError('top', top, 'height', height, picture.height),
  async apply(picture, { left = 0, top = 0, width, height }) {
    await cropToBox(picture, { left, top, width, height });
  },
});

function rectangleOutsideError(
  startKey: string,
  start: number,
  lengthKey: string,
  length: number,
  edge: number,
): BadArgumentError | undefined {
  if (start >= edge) {
    const message = `The rectangle begins at pixel ${start} from the ${startKey}, but the picture has ${edge}.`;
    return new BadArgumentError(startKey, message, { received: start, limit: edge - 1, suggest: [edge - 1] });
  }
  if (start + length > edge) {
    const message = `The rectangle reaches to pixel ${start + length} from the ${startKey}, but the picture has ${edge}: make its ${lengthKey} at most ${edge - start}.`;
    const limit = edge - start;
    return new BadArgumentError(lengthKey, message, { received: length, limit, suggest: [limit] });
  }
  return undefined;
}

/** The smallest longer side of a picture in which sharp searches for edges, in pixels. */
const MIN_TRIMMED_EDGE_PX = 3;

export const trim = defineStepOperation({
  description:
    'Cuts away edges that look like the background, by default like the top left pixel. Of an animation it cuts what is background in every frame.',
  parameters: {
    threshold: parameter.number(
      0,
      255,
      'How far a pixel may differ from the background and still be cut away.',
      { default: 10 },
    ),
    background: parameter.optional(
      parameter.colour('The colour to cut away; the top left pixel when left out.'),
    ),
  },
  grey: 'keeps',
  copies: 1,
  sizeAfter: 'found',
  alphaAfter: 'kept',
  cpuMsPerMegapixel: 150,
  async apply(picture, { threshold, background }) {
    if (Math.max(picture.width, picture.height) < MIN_TRIMMED_EDGE_PX) return;
    const options: TrimOptions = {
      threshold,
      // Otherwise sharp smooths the picture before the search, and would cut away lines of one pixel.
      lineArt: true,
      ...(background !== undefined && { background: parseColour(background, 'background') }),
    };
    if (picture.frames === 1) {
      await picture.turnUpright();
      (await picture.at('trim')).trim(options);
      picture.setEstimatedSize(picture);
      return;
    }
    let keptBox: Box | undefined;
    for (const frame of await picture.framePipelines()) {
      const box = await findContentBox(frame, options);
      keptBox = keptBox === undefined ? box : boundingBoxOf(keptBox, box);
    }
    if (keptBox !== undefined) await cropToBox(picture, keptBox);
  },
});

async function findContentBox(frame: Sharp, options: TrimOptions): Promise<Box> {
  const { info } = await encodeOutput(frame.trim(options).raw());
  // sharp reports where the original picture lies relative to the trimmed one. The trimmed box lies at the negated
  // position.
  return {
    left: -(info.trimOffsetLeft ?? 0),
    top: -(info.trimOffsetTop ?? 0),
    width: info.width,
    height: info.height,
  };
}

import { type Static, Type } from '@sinclair/typebox';
import type { Size } from '../../formats/size.ts';
import { parseColour } from '../colour/colour.ts';
import { coverWithMeanColours, groupNearRegions, isTooSmallForColours } from '../pixels/concealment.ts';
import { type Box, intersectBox } from '../pixels/geometry.ts';
import { fillBox } from '../pixels/paint.ts';
import { BadArgumentError } from '../refusal.ts';
import { defineStepOperation } from './operation.ts';
import { choiceParameter, colourParameter, integerParameter } from './parameter.ts';

const MAX_EDGE_PX = 100_000;
const FILL = '#000000';
const EXAMPLE = { x: 10, y: 10, width: 20, height: 20 };

const REGION = Type.Object(
  {
    x: integerParameter(0, MAX_EDGE_PX, 'Left edge in pixels.'),
    y: integerParameter(0, MAX_EDGE_PX, 'Top edge in pixels.'),
    width: integerParameter(1, MAX_EDGE_PX, 'Width in pixels.'),
    height: integerParameter(1, MAX_EDGE_PX, 'Height in pixels.'),
  },
  { additionalProperties: false, examples: [EXAMPLE] },
);

export const redactOperation = defineStepOperation({
  description:
    'Covers rectangles so that what lay under them is really gone from the file; for text, take the style fill.',
  parameters: {
    regions: Type.Array(REGION, {
      minItems: 1,
      maxItems: 100,
      examples: [[EXAMPLE]],
      description: 'The rectangles to cover, each {x, y, width, height} in pixels; JSON text in a query.',
    }),
    style: choiceParameter(
      ['fill', 'blur', 'pixelate'],
      'How rectangles are covered. Only fill is safe for text. blur and pixelate take rectangles less than 24 px apart as one, keep one rough colour for each 96 px of an edge (at most 3 x 3), and fill what is narrower.',
      { default: 'fill' },
    ),
    color: colourParameter('Colour of the rectangles that are filled.', { default: FILL }),
  },
  grey: 'keeps',
  copies: 1,
  alphaAfter: 'kept',
  cpuMsPerMegapixel: 60,
  frames: 'each',
  conceals: true,
  fits: (picture, { regions }) =>
    regions
      .map(({ x, y, width, height }, index) =>
        regionFault({ left: x, top: y, width, height }, picture, index),
      )
      .find((fault) => fault !== undefined),
  warningsAbout(input, { regions, style, color }) {
    const isUsed = style === 'fill' || groupsWithin(input, regions).some(isTooSmallForColours);
    return isUsed || color === FILL ? [] : [{ code: 'no_effect', name: 'color' }];
  },
  async apply(picture, { regions, style, color }) {
    // The alpha of the colour is ignored, because a translucent cover would hide nothing.
    const ink = { ...parseColour(color, 'color'), alpha: 1 };
    const pixels = await picture.pixels();
    for (const group of groupsWithin(pixels, regions)) {
      if (style !== 'fill' && !isTooSmallForColours(group))
        coverWithMeanColours(pixels, group, style, picture.checkDeadline);
      else for (const box of group.regions) fillBox(pixels, box, ink);
    }
  },
});

/** Cuts the regions to the picture, and groups those that one step covers. */
function groupsWithin(picture: Size, regions: readonly Static<typeof REGION>[]) {
  const boxes = regions.flatMap(
    ({ x, y, width, height }) => intersectBox({ left: x, top: y, width, height }, picture) ?? [],
  );
  return groupNearRegions(boxes);
}

/** The error about a region that lies outside the picture. */
function regionFault(region: Box, picture: Size, index: number): BadArgumentError | undefined {
  if (intersectBox(region, picture) !== undefined) return undefined;
  const place = `${region.left}, ${region.top}`;
  const { width, height } = picture;
  const message = `regions[${index}] begins at ${place}, outside of the picture of ${width} × ${height} pixels, as it is shown: make x less than ${width} and y less than ${height}.`;
  return new BadArgumentError('regions', message, { index, width, height });
}

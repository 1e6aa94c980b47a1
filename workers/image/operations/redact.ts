import { type Static, Type } from '@sinclair/typebox';
import type { Size } from '../../formats/size.ts';
import { parseColour } from '../colour/colour.ts';
import { coarsen, groupsOf, mustBeFilled } from '../pixels/concealment.ts';
import { type Box, intersect } from '../pixels/geometry.ts';
import { fill } from '../pixels/paint.ts';
import { BadArgument } from '../refusal.ts';
import { defineStep } from './operation.ts';
import { choice, colour, integer } from './parameter.ts';

const MAX_EDGE_PX = 100_000;
const FILL = '#000000';
const EXAMPLE = { x: 10, y: 10, width: 20, height: 20 };

const REGION = Type.Object(
  {
    x: integer(0, MAX_EDGE_PX, 'Left edge in pixels.'),
    y: integer(0, MAX_EDGE_PX, 'Top edge in pixels.'),
    width: integer(1, MAX_EDGE_PX, 'Width in pixels.'),
    height: integer(1, MAX_EDGE_PX, 'Height in pixels.'),
  },
  { additionalProperties: false, examples: [EXAMPLE] },
);

export const redact = defineStep({
  description:
    'Covers rectangles so that what lay under them is really gone from the file; for text, take the style fill.',
  parameters: {
    regions: Type.Array(REGION, {
      minItems: 1,
      maxItems: 100,
      examples: [[EXAMPLE]],
      description: 'The rectangles to cover, each {x, y, width, height} in pixels; JSON text in a query.',
    }),
    style: choice(
      ['fill', 'blur', 'pixelate'],
      'How rectangles are covered. Only fill is safe for text. blur and pixelate take rectangles less than 24 px apart as one, keep one rough colour for each 96 px of an edge (at most 3 x 3), and fill what is narrower.',
      { default: 'fill' },
    ),
    color: colour('Colour of the rectangles that are filled.', { default: FILL }),
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
    const isUsed = style === 'fill' || groupsWithin(input, regions).some(mustBeFilled);
    return isUsed || color === FILL ? [] : [{ code: 'no_effect', name: 'color' }];
  },
  async apply(picture, { regions, style, color }) {
    // The alpha is ignored, because a translucent cover would hide nothing.
    const ink = { ...parseColour(color, 'color'), alpha: 1 };
    const pixels = await picture.pixels();
    for (const group of groupsWithin(pixels, regions)) {
      if (style !== 'fill' && !mustBeFilled(group)) coarsen(pixels, group, style, picture.checkDeadline);
      else for (const box of group.regions) fill(pixels, box, ink);
    }
  },
});

/** The groups in which regions are covered, as far as they lie in the picture. */
function groupsWithin(picture: Size, regions: readonly Static<typeof REGION>[]) {
  const boxes = regions.flatMap(
    ({ x, y, width, height }) => intersect({ left: x, top: y, width, height }, picture) ?? [],
  );
  return groupsOf(boxes);
}

/** The fault of a region that lies outside the picture. */
function regionFault(region: Box, picture: Size, index: number): BadArgument | undefined {
  if (intersect(region, picture) !== undefined) return undefined;
  const place = `${region.left}, ${region.top}`;
  const { width, height } = picture;
  const message = `regions[${index}] begins at ${place}, outside of the picture of ${width} × ${height} pixels, as it is shown: make x less than ${width} and y less than ${height}.`;
  return new BadArgument('regions', message, { index, width, height });
}

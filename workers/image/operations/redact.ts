import { Type } from '@sinclair/typebox';
import { colourOf } from '../colour.ts';
import { type Box, intersect, partsOf } from '../geometry.ts';
import { average, cut, fill, paste } from '../paint.ts';
import { type Pixels, pixelsOf } from '../pixels.ts';
import { BadArgument } from '../refusal.ts';
import { type PassContext, step } from './operation.ts';
import { choice, colour, integer } from './parameter.ts';

const EDGE = 100_000;

/** A region keeps at most this many blocks along its longer side: too few to read a letter or know a face. */
const BLOCKS_ACROSS = 8;
const SMALLEST_BLOCK_PX = 12;
/** The mean of fewer pixels than these tells what they were. */
const FEWEST_PIXELS = 16;

const REGION = Type.Object(
  {
    x: integer(0, EDGE, 'Left edge in pixels.'),
    y: integer(0, EDGE, 'Top edge in pixels.'),
    width: integer(1, EDGE, 'Width in pixels.'),
    height: integer(1, EDGE, 'Height in pixels.'),
  },
  { additionalProperties: false },
);

export const redact = step({
  description: 'Covers rectangles so that what lay under them is really gone.',
  parameters: {
    regions: Type.Array(REGION, {
      minItems: 1,
      maxItems: 100,
      description: 'The rectangles, each {x, y, width, height}.',
    }),
    style: choice(
      ['fill', 'blur', 'pixelate'],
      'How a rectangle is covered; one of fewer than 16 pixels is filled in any style.',
      { default: 'fill' },
    ),
    color: colour('Colour of the rectangles that are filled; always opaque.', { default: '#000000' }),
  },
  cost: 1,
  frames: 'each',
  conceals: true,
  async apply(picture, { regions, style, color }, pass) {
    const ink = { ...colourOf(color, 'color'), alpha: 1 };
    const pixels = await picture.pixels();
    for (const { x, y, width, height } of regions) {
      const box = intersect({ left: x, top: y, width, height }, pixels);
      if (box === undefined) {
        throw new BadArgument(
          'regions',
          `A region begins at ${x}, ${y}, outside of the picture of ${pixels.width} × ${pixels.height} pixels.`,
        );
      }
      if (style === 'fill') fill(pixels, box, ink);
      else if (box.width * box.height < FEWEST_PIXELS) fill(pixels, box, ink);
      else await coarsen(pixels, box, style, pass);
    }
  },
});

/** Blocks first, so that blurring has nothing left to give away; a blur alone could be undone. */
async function coarsen(
  pixels: Pixels,
  box: Box,
  style: 'blur' | 'pixelate',
  { sharp }: PassContext,
): Promise<void> {
  const blockPx = Math.max(SMALLEST_BLOCK_PX, Math.ceil(Math.max(box.width, box.height) / BLOCKS_ACROSS));
  // No block is smaller than that, at the edges neither: one of a single pixel would show it.
  const blocksAlong = (edgePx: number) => Math.max(1, Math.floor(edgePx / blockPx));
  for (const part of partsOf(box, blocksAlong(box.width), blocksAlong(box.height))) average(pixels, part);
  if (style === 'pixelate') return;
  const { data, ...piece } = cut(pixels, box);
  paste(pixels, await pixelsOf(sharp(data, { raw: piece }).blur(blockPx / 2)), box);
}

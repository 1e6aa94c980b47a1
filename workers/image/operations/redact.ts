import type { Static } from '@sinclair/typebox';
import type { Size } from '../../formats/size.ts';
import { parseColour } from '../colour/colour.ts';
import { type Box, boundingBoxOf, divideBox, intersectBox } from '../pixels/geometry.ts';
import { copyBox, fillBox, fillBoxWithPixel, meanColourOf, pastePixels } from '../pixels/paint.ts';
import type { Pixels } from '../pixels/pixels.ts';
import { enlargePixels } from '../pixels/resample.ts';
import { BadArgumentError } from '../refusal.ts';
import { defineStepOperation } from './operation.ts';
import * as parameter from './parameter.ts';
import { Type } from './schema.ts';

const MAX_COORDINATE_PX = 100_000;
const DEFAULT_FILL_COLOUR = '#000000';
const EXAMPLE_REGION = { x: 10, y: 10, width: 20, height: 20 };

const REGION_SCHEMA = Type.Object(
  {
    x: parameter.integer(0, MAX_COORDINATE_PX, 'Left edge in pixels.'),
    y: parameter.integer(0, MAX_COORDINATE_PX, 'Top edge in pixels.'),
    width: parameter.integer(1, MAX_COORDINATE_PX, 'Width in pixels.'),
    height: parameter.integer(1, MAX_COORDINATE_PX, 'Height in pixels.'),
  },
  { additionalProperties: false, examples: [EXAMPLE_REGION] },
);

export const redact = defineStepOperation({
  description:
    'Covers rectangles so that what lay under them is really gone from the file; for text, take the style fill.',
  parameters: {
    regions: Type.Array(REGION_SCHEMA, {
      minItems: 1,
      maxItems: 100,
      examples: [[EXAMPLE_REGION]],
      description: 'The rectangles to cover, each {x, y, width, height} in pixels; JSON text in a query.',
    }),
    style: parameter.choice(
      ['fill', 'blur', 'pixelate'],
      'How rectangles are covered. Only fill is safe for text. blur and pixelate take rectangles less than 24 px apart as one, keep one rough colour for each 96 px of an edge (at most 3 x 3), and fill what is narrower.',
      { default: 'fill' },
    ),
    color: parameter.colour('Colour of the rectangles that are filled.', { default: DEFAULT_FILL_COLOUR }),
  },
  grey: 'keeps',
  copies: 1,
  alphaAfter: 'kept',
  cpuMsPerMegapixel: 60,
  frames: 'each',
  hidesContent: true,
  findFitError: (picture, { regions }) =>
    regions
      .map(({ x, y, width, height }, index) =>
        regionError({ left: x, top: y, width, height }, picture, index),
      )
      .find((fault) => fault !== undefined),
  warningsAbout(input, { regions, style, color }) {
    const isUsed = style === 'fill' || groupsWithin(input, regions).some(isTooSmallForColours);
    return isUsed || color === DEFAULT_FILL_COLOUR ? [] : [{ code: 'no_effect', name: 'color' }];
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
function groupsWithin(picture: Size, regions: readonly Static<typeof REGION_SCHEMA>[]) {
  const boxes = regions.flatMap(
    ({ x, y, width, height }) => intersectBox({ left: x, top: y, width, height }, picture) ?? [],
  );
  return groupNearRegions(boxes);
}

/** The error for a region that lies outside the picture. */
function regionError(region: Box, picture: Size, index: number): BadArgumentError | undefined {
  if (intersectBox(region, picture) !== undefined) return undefined;
  const place = `${region.left}, ${region.top}`;
  const { width, height } = picture;
  const message = `regions[${index}] begins at ${place}, outside of the picture of ${width} × ${height} pixels, as it is shown: make x less than ${width} and y less than ${height}.`;
  return new BadArgumentError('regions', message, { index, width, height });
}

/**
 * Covers regions with a few of their mean colours. If each character kept its own colour, an attacker who knows the
 * font could cover every possible character in the same way and compare. Therefore regions near each other are covered
 * as one, a side keeps at most three colours, and groups that are too small for that are filled with one colour.
 */

/** Regions with a smaller gap, such as the space between two characters, are covered as one. */
const MAX_NEAR_GAP_PX = 24;
/** The largest number of colours along a side. A group with so few colours shows neither a word nor a face. */
const MAX_CELLS_PER_SIDE = 3;
/**
 * The smallest side of a cell. The mean of a smaller cell could reveal its content, such as the ink of one character of
 * a headline.
 */
const MIN_CELL_PX = 96;
/** Mean colours are rounded to multiples of this step, so that the amount of ink of a character cannot be measured. */
const COLOUR_STEP = 32;

type CoarseStyle = 'blur' | 'pixelate';

/** Regions that are covered as one. */
interface RegionGroup {
  regions: Box[];
  /** The smallest box around all regions of the group. */
  box: Box;
}

/** Joins regions that touch, overlap or lie near each other. */
function groupNearRegions(regions: readonly Box[]): RegionGroup[] {
  const groups: RegionGroup[] = [];
  for (const region of regions) {
    let joined: RegionGroup = { regions: [region], box: region };
    // A box that has grown may now be near to other groups, so the search repeats until no group is near.
    for (let near = groups.findIndex((one) => isNear(one, joined)); near !== -1; ) {
      const [other] = groups.splice(near, 1) as [RegionGroup];
      joined = { regions: [...other.regions, ...joined.regions], box: boundingBoxOf(other.box, joined.box) };
      near = groups.findIndex((one) => isNear(one, joined));
    }
    groups.push(joined);
  }
  return groups;
}

function isNear({ box }: RegionGroup, { box: other }: RegionGroup): boolean {
  const gapAcross = Math.max(box.left, other.left) - Math.min(box.left + box.width, other.left + other.width);
  const gapDown = Math.max(box.top, other.top) - Math.min(box.top + box.height, other.top + other.height);
  return Math.max(gapAcross, gapDown) < MAX_NEAR_GAP_PX;
}

/** Whether a group is too small to keep its mean colours. */
function isTooSmallForColours({ box }: RegionGroup): boolean {
  return Math.min(box.width, box.height) < MIN_CELL_PX;
}

/** Covers a group in place. Only pixels in its regions are read and changed. */
function coverWithMeanColours(
  pixels: Pixels,
  { regions, box }: RegionGroup,
  style: CoarseStyle,
  checkDeadline: () => void,
): void {
  const cells = meanColourCells(pixels, regions, box);
  const patch =
    style === 'blur' ? enlargePixels(cells, box, 'mitchell', checkDeadline) : mosaicOf(cells, box);
  for (const region of regions) {
    const inPatch = { ...region, left: region.left - box.left, top: region.top - box.top };
    pastePixels(pixels, copyBox(patch, inPatch), region);
  }
}

/**
 * Divides the box of a group into cells, and returns their mean colours as a picture with one pixel per cell. A cell
 * outside all regions gets the mean of the whole group. If regions overlap, their pixels count twice.
 */
function meanColourCells(pixels: Pixels, regions: readonly Box[], box: Box): Pixels {
  const along = (edgePx: number) => Math.min(MAX_CELLS_PER_SIDE, Math.floor(edgePx / MIN_CELL_PX));
  const [width, height] = [along(box.width), along(box.height)];
  const overall = meanColourOf(pixels, regions);
  const means = divideBox(box, width, height).map((cell) => {
    const covered = regions.flatMap((region) => overlapOf(region, cell) ?? []);
    return covered.length === 0 ? overall : meanColourOf(pixels, covered);
  });
  const data = Uint8Array.from(means.flatMap((mean) => Array.from(mean, roundToColourStep)));
  return { data, width, height, channels: pixels.channels, frames: 1 };
}

function roundToColourStep(value: number): number {
  return Math.min(255, Math.round(value / COLOUR_STEP) * COLOUR_STEP);
}

function overlapOf(region: Box, cell: Box): Box | undefined {
  const relative = { ...region, left: region.left - cell.left, top: region.top - cell.top };
  const both = intersectBox(relative, cell);
  return both && { ...both, left: both.left + cell.left, top: both.top + cell.top };
}

/** A picture that shows each cell as a block of its colour. */
function mosaicOf(cells: Pixels, { width, height }: Box): Pixels {
  const { channels } = cells;
  const mosaic = { ...cells, width, height, data: new Uint8Array(width * height * channels) };
  const parts = divideBox({ left: 0, top: 0, width, height }, cells.width, cells.height);
  for (const [index, part] of parts.entries())
    fillBoxWithPixel(mosaic, part, cells.data.subarray(index * channels, (index + 1) * channels));
  return mosaic;
}

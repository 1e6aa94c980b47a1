import { BadArgument } from '../refusal.ts';
import { cropTo } from '../sizing.ts';
import { defineStep } from './operation.ts';
import { integer, optional } from './parameter.ts';

const MAX_EDGE_PX = 100_000;

export const extract = defineStep({
  description: 'Cuts out a rectangle given in pixels; it must lie within the picture.',
  parameters: {
    left: optional(integer(0, MAX_EDGE_PX, 'Left edge of the rectangle in pixels; 0 when left out.')),
    top: optional(integer(0, MAX_EDGE_PX, 'Top edge of the rectangle in pixels; 0 when left out.')),
    width: integer(1, MAX_EDGE_PX, 'Width in pixels.'),
    height: integer(1, MAX_EDGE_PX, 'Height in pixels.'),
  },
  grey: 'keeps',
  copies: 0,
  sizeAfter: 'given',
  alphaAfter: 'kept',
  cpuMsPerMegapixel: 2,
  commutesWithFlatten: true,
  size: (_, { width, height }) => ({ width, height }),
  fits: (picture, { left = 0, top = 0, width, height }) =>
    edgeFault('left', left, 'width', width, picture.width) ??
    edgeFault('top', top, 'height', height, picture.height),
  async apply(picture, { left = 0, top = 0, width, height }) {
    await cropTo(picture, { left, top, width, height });
  },
});

function edgeFault(
  startKey: string,
  start: number,
  lengthKey: string,
  length: number,
  edge: number,
): BadArgument | undefined {
  if (start >= edge) {
    const message = `The rectangle begins at pixel ${start} from the ${startKey}, but the picture has ${edge}.`;
    return new BadArgument(startKey, message, { received: start, limit: edge - 1 });
  }
  if (start + length > edge) {
    const message = `The rectangle reaches to pixel ${start + length} from the ${startKey}, but the picture has ${edge}: make its ${lengthKey} at most ${edge - start}.`;
    return new BadArgument(lengthKey, message, { received: length, limit: edge - start });
  }
  return undefined;
}

import { BadArgument } from '../refusal.ts';
import { step } from './operation.ts';
import { integer } from './parameter.ts';

const EDGE = 100_000;

export const extract = step({
  description: 'Cuts out a rectangle given in pixels; it must lie within the picture.',
  parameters: {
    left: integer(0, EDGE, 'Left edge in pixels.', { default: 0 }),
    top: integer(0, EDGE, 'Top edge in pixels.', { default: 0 }),
    width: integer(1, EDGE, 'Width in pixels.'),
    height: integer(1, EDGE, 'Height in pixels.'),
  },
  cost: 0.2,
  commutesWithFlatten: true,
  size: (_, { width, height }) => ({ width, height }),
  async apply(picture, { left, top, width, height }) {
    assertWithin('left', left, 'width', width, picture.width);
    assertWithin('top', top, 'height', height, picture.height);
    await picture.cropTo({ left, top, width, height });
  },
});

function assertWithin(
  startKey: string,
  start: number,
  lengthKey: string,
  length: number,
  edge: number,
): void {
  if (start >= edge) {
    const message = `${startKey} is ${start}, but the picture has ${edge} pixels there.`;
    throw new BadArgument(startKey, message, { received: start, limit: edge - 1 });
  }
  if (start + length > edge) {
    const message = `${startKey} and ${lengthKey} reach to pixel ${start + length}, but the picture ends at ${edge}.`;
    throw new BadArgument(lengthKey, message, { received: length, limit: edge - start });
  }
}

import { BadArgumentError } from '../refusal.ts';
import { cropToBox } from '../sizing.ts';
import { defineStepOperation } from './operation.ts';
import { integerParameter, optionalParameter } from './parameter.ts';

const MAX_EDGE_PX = 100_000;

export const extractOperation = defineStepOperation({
  description: 'Cuts out a rectangle given in pixels; it must lie within the picture.',
  parameters: {
    left: optionalParameter(
      integerParameter(0, MAX_EDGE_PX, 'Left edge of the rectangle in pixels; 0 when left out.'),
    ),
    top: optionalParameter(
      integerParameter(0, MAX_EDGE_PX, 'Top edge of the rectangle in pixels; 0 when left out.'),
    ),
    width: integerParameter(1, MAX_EDGE_PX, 'Width in pixels.'),
    height: integerParameter(1, MAX_EDGE_PX, 'Height in pixels.'),
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
    await cropToBox(picture, { left, top, width, height });
  },
});

function edgeFault(
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

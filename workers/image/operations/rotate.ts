import { backgroundOrFill, leavesTransparency } from '../colour/colour.ts';
import { boundingSizeOfTurned, sizeLimitError } from '../pixels/geometry.ts';
import { turnPixels } from '../pixels/turn.ts';
import { defineStepOperation } from './operation.ts';
import { colourParameter, numberParameter, optionalParameter } from './parameter.ts';

export const rotateOperation = defineStepOperation({
  description: 'Turns the picture clockwise; corners that open up take the background.',
  parameters: {
    angle: numberParameter(-360, 360, 'Degrees clockwise; a negative angle turns the other way.'),
    background: optionalParameter(colourParameter('Colour of the corners that open up.')),
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
  // A turn by a right angle uncovers no corners.
  commutesWithFlatten: ({ angle }) => angle % 90 === 0,
  fits: (picture, { angle }) =>
    angle % 90 === 0 ? undefined : sizeLimitError(boundingSizeOfTurned(picture, angle)),
  size: (input, { angle }) => boundingSizeOfTurned(input, angle),
  async apply(picture, { angle, background }, { fill, sharp }) {
    if (angle % 360 === 0) return;
    if (angle % 90 === 0) {
      (await picture.at('turn')).rotate(angle);
      if (angle % 180 !== 0) picture.becomes({ width: picture.height, height: picture.width });
      return;
    }
    const corners = backgroundOrFill(fill, background);
    picture.replace(await turnPixels(await picture.pixels(), angle, corners, sharp));
  },
});

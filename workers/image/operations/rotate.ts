import { backgroundOr, opensUp } from '../colour/colour.ts';
import { sizeFault, turnedSize } from '../pixels/geometry.ts';
import { turnPixels } from '../pixels/turn.ts';
import { defineStep } from './operation.ts';
import { colour, number, optional } from './parameter.ts';

export const rotate = defineStep({
  description: 'Turns the picture clockwise; corners that open up take the background.',
  parameters: {
    angle: number(-360, 360, 'Degrees clockwise; a negative angle turns the other way.'),
    background: optional(colour('Colour of the corners that open up.')),
  },
  grey: 'keeps',
  copies: 3,
  alphaAfter({ angle, background }) {
    if (angle % 90 === 0) return 'kept';
    return opensUp(background) ? true : undefined;
  },
  changesNothing: ({ angle }) => angle % 360 === 0,
  cpuMsPerMegapixel: ({ angle }) => (angle % 90 === 0 ? 10 : 100),
  frames: 'each',
  // A turn by a right angle uncovers no corners.
  commutesWithFlatten: ({ angle }) => angle % 90 === 0,
  fits: (picture, { angle }) => (angle % 90 === 0 ? undefined : sizeFault(turnedSize(picture, angle))),
  size: (input, { angle }) => turnedSize(input, angle),
  async apply(picture, { angle, background }, { fill, sharp }) {
    if (angle % 360 === 0) return;
    if (angle % 90 === 0) {
      (await picture.at('turn')).rotate(angle);
      if (angle % 180 !== 0) picture.becomes({ width: picture.height, height: picture.width });
      return;
    }
    const corners = backgroundOr(fill, background);
    picture.replace(await turnPixels(await picture.pixels(), angle, corners, sharp));
  },
});

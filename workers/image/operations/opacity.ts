import { multiplyAlpha } from '../pixels/paint.ts';
import { defineStep, IN_PLACE } from './operation.ts';
import { number } from './parameter.ts';

export const opacity = defineStep({
  description: 'Makes the whole picture more transparent.',
  parameters: { opacity: number(0, 1, 'What stays of the opacity: 0 is invisible, 1 changes nothing.') },
  grey: 'keeps',
  ...IN_PLACE,
  alphaAfter: 'added',
  changesNothing: ({ opacity }) => opacity === 1,
  cpuMsPerMegapixel: 13,
  async apply(picture, { opacity }) {
    if (opacity < 1) multiplyAlpha(await picture.pixels('rgba'), opacity);
  },
});

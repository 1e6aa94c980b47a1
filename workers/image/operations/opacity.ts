import { multiplyAlpha } from '../pixels/paint.ts';
import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import { numberParameter } from './parameter.ts';

export const opacityOperation = defineStepOperation({
  description: 'Makes the whole picture more transparent.',
  parameters: {
    opacity: numberParameter(0, 1, 'What stays of the opacity: 0 is invisible, 1 changes nothing.'),
  },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  alphaAfter: 'added',
  changesNothing: ({ opacity }) => opacity === 1,
  cpuMsPerMegapixel: 13,
  async apply(picture, { opacity }) {
    if (opacity < 1) multiplyAlpha(await picture.pixels('rgba'), opacity);
  },
});

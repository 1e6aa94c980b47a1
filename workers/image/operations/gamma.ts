import { mapColourChannels } from '../pixels/paint.ts';
import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import { numberParameter } from './parameter.ts';

export const gammaOperation = defineStepOperation({
  description: 'Lifts the dark tones: each channel becomes its 1/gamma-th power.',
  parameters: { gamma: numberParameter(1, 3, '1 changes nothing.', { default: 2.2 }) },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  changesNothing: ({ gamma }) => gamma === 1,
  cpuMsPerMegapixel: 15,
  async apply(picture, { gamma }) {
    if (gamma === 1) return;
    // sharp's own gamma truncates where it should round: white would become 254.
    mapColourChannels(await picture.pixels(), (value) => Math.round(255 * (value / 255) ** (1 / gamma)));
  },
});

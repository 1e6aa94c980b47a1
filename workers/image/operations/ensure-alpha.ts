import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import { numberParameter } from './parameter.ts';

export const ensureAlphaOperation = defineStepOperation({
  description: 'Adds an alpha channel where there is none.',
  parameters: { alpha: numberParameter(0, 1, 'Opacity of the new channel.', { default: 1 }) },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  alphaAfter: ({ alpha }) => (alpha < 1 ? true : undefined),
  cpuMsPerMegapixel: 1,
  async apply(picture, { alpha }) {
    (await picture.at('ensureAlpha')).ensureAlpha(alpha);
    picture.hasAlpha = true;
  },
});

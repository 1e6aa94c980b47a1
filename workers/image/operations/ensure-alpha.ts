import { defineStep, IN_PLACE } from './operation.ts';
import { number } from './parameter.ts';

export const ensureAlpha = defineStep({
  description: 'Adds an alpha channel where there is none.',
  parameters: { alpha: number(0, 1, 'Opacity of the new channel.', { default: 1 }) },
  grey: 'keeps',
  ...IN_PLACE,
  alphaAfter: ({ alpha }) => (alpha < 1 ? true : undefined),
  cpuMsPerMegapixel: 1,
  async apply(picture, { alpha }) {
    (await picture.at('ensureAlpha')).ensureAlpha(alpha);
    picture.hasAlpha = true;
  },
});

import { defineStep } from './operation.ts';
import { number } from './parameter.ts';

export const ensureAlpha = defineStep({
  description: 'Adds an alpha channel where there is none.',
  parameters: { alpha: number(0, 1, 'Opacity of the new channel.', { default: 1 }) },
  grey: 'keeps',
  copies: 1,
  sizeAfter: 'kept',
  alphaAfter: ({ alpha }) => (alpha < 1 ? true : undefined),
  changesNothing: 'never',
  cpuMsPerMegapixel: 1,
  async apply(picture, { alpha }) {
    (await picture.at('ensureAlpha')).ensureAlpha(alpha);
    picture.hasAlpha = true;
  },
});

import { defineStep, IN_PLACE } from './operation.ts';
import { flag } from './parameter.ts';

export const negate = defineStep({
  description: 'Turns every colour into its opposite.',
  parameters: { alpha: flag('Whether transparency is inverted as well.', { default: false }) },
  grey: 'keeps',
  ...IN_PLACE,
  cpuMsPerMegapixel: 8,
  async apply(picture, { alpha }) {
    (await picture.at('negate')).negate({ alpha });
  },
});

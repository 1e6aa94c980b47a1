import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import { flagParameter } from './parameter.ts';

export const negateOperation = defineStepOperation({
  description: 'Turns every colour into its opposite.',
  parameters: { alpha: flagParameter('Whether transparency is inverted as well.', { default: false }) },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  cpuMsPerMegapixel: 8,
  async apply(picture, { alpha }) {
    (await picture.at('negate')).negate({ alpha });
  },
});

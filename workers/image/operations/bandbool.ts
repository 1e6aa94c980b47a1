import { defineStep } from './operation.ts';
import { choice } from './parameter.ts';

export const bandbool = defineStep({
  description: 'Joins the channels of the picture bit by bit into one.',
  parameters: { operator: choice(['and', 'or', 'eor'], 'How bits are joined.') },
  grey: 'makes',
  copies: 1,
  alphaAfter: 'kept',
  cpuMsPerMegapixel: 5,
  async apply(picture, { operator }) {
    (await picture.at('bandbool')).bandbool(operator);
    picture.hasAlpha = false;
  },
});

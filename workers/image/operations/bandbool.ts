import { defineStepOperation } from './operation.ts';
import { choiceParameter } from './parameter.ts';

export const bandboolOperation = defineStepOperation({
  description: 'Joins the channels of the picture bit by bit into one.',
  parameters: { operator: choiceParameter(['and', 'or', 'eor'], 'How bits are joined.') },
  grey: 'makes',
  copies: 1,
  alphaAfter: 'kept',
  cpuMsPerMegapixel: 5,
  async apply(picture, { operator }) {
    (await picture.at('bandbool')).bandbool(operator);
    picture.hasAlpha = false;
  },
});

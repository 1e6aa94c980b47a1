import { parseColour } from '../colour/colour.ts';
import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import { colourParameter } from './parameter.ts';

export const flattenOperation = defineStepOperation({
  description: 'Lays the picture on a solid colour and drops its transparency.',
  parameters: { background: colourParameter('The colour.', { default: '#ffffff' }) },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  alphaAfter: 'dropped',
  cpuMsPerMegapixel: 10,
  async apply(picture, { background }) {
    (await picture.at('flatten')).flatten({ background: parseColour(background, 'background') });
    picture.hasAlpha = false;
  },
});

import { parseColour } from '../colour/colour.ts';
import { defineStep, IN_PLACE } from './operation.ts';
import { colour } from './parameter.ts';

export const flatten = defineStep({
  description: 'Lays the picture on a solid colour and drops its transparency.',
  parameters: { background: colour('The colour.', { default: '#ffffff' }) },
  grey: 'keeps',
  ...IN_PLACE,
  alphaAfter: 'dropped',
  cpuMsPerMegapixel: 10,
  async apply(picture, { background }) {
    (await picture.at('flatten')).flatten({ background: parseColour(background, 'background') });
    picture.hasAlpha = false;
  },
});

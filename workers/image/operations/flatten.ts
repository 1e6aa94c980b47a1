import { colourOf } from '../colour/colour.ts';
import { defineStep } from './operation.ts';
import { colour } from './parameter.ts';

export const flatten = defineStep({
  description: 'Lays the picture on a solid colour and drops its transparency.',
  parameters: { background: colour('The colour.', { default: '#ffffff' }) },
  grey: 'keeps',
  copies: 1,
  sizeAfter: 'kept',
  alphaAfter: 'dropped',
  changesNothing: 'never',
  cpuMsPerMegapixel: 10,
  async apply(picture, { background }) {
    (await picture.at('flatten')).flatten({ background: colourOf(background, 'background') });
    picture.hasAlpha = false;
  },
});

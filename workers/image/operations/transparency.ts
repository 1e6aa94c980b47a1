import { parseColour } from '../colour/colour.ts';
import { multiplyAlpha } from '../pixels/paint.ts';
import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import * as parameter from './parameter.ts';

export const flatten = defineStepOperation({
  description: 'Lays the picture on a solid colour and drops its transparency.',
  parameters: { background: parameter.colour('The colour.', { default: '#ffffff' }) },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  allowsScaleOnLoad: true,
  alphaAfter: 'dropped',
  cpuMsPerMegapixel: 10,
  async apply(picture, { background }) {
    (await picture.at('flatten')).flatten({ background: parseColour(background, 'background') });
    picture.hasAlpha = false;
  },
});

export const unflatten = defineStepOperation({
  description: 'Makes white pixels transparent.',
  parameters: {},
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  alphaAfter: 'added',
  cpuMsPerMegapixel: 10,
  async apply(picture) {
    (await picture.at('unflatten')).unflatten();
    picture.hasAlpha = true;
  },
});

export const removeAlpha = defineStepOperation({
  description: 'Drops the transparency and shows the colours that lay under it.',
  parameters: {},
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  alphaAfter: 'dropped',
  cpuMsPerMegapixel: 8,
  async apply(picture) {
    (await picture.at('removeAlpha')).removeAlpha();
    picture.hasAlpha = false;
  },
});

export const ensureAlpha = defineStepOperation({
  description: 'Adds an alpha channel where there is none.',
  parameters: { alpha: parameter.number(0, 1, 'Opacity of the new channel.', { default: 1 }) },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  alphaAfter: ({ alpha }) => (alpha < 1 ? true : undefined),
  cpuMsPerMegapixel: 1,
  async apply(picture, { alpha }) {
    (await picture.at('ensureAlpha')).ensureAlpha(alpha);
    picture.hasAlpha = true;
  },
});

export const opacity = defineStepOperation({
  description: 'Makes the whole picture more transparent.',
  parameters: {
    opacity: parameter.number(0, 1, 'What stays of the opacity: 0 is invisible, 1 changes nothing.'),
  },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  alphaAfter: 'added',
  changesNothing: ({ opacity }) => opacity === 1,
  cpuMsPerMegapixel: 13,
  async apply(picture, { opacity }) {
    if (opacity < 1) multiplyAlpha(await picture.pixels('rgba'), opacity);
  },
});

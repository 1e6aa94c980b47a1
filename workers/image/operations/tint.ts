import { parseColour } from '../colour/colour.ts';
import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import { colourParameter } from './parameter.ts';

export const tintOperation = defineStepOperation({
  description: 'Colours the picture in one tone and keeps its brightness.',
  parameters: { color: colourParameter('The tone.') },
  ...IN_PLACE_EFFECTS,
  cpuMsPerMegapixel: 16,
  async apply(picture, { color }) {
    (await picture.at('tint')).tint(parseColour(color, 'color'));
  },
});

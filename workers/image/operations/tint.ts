import { parseColour } from '../colour/colour.ts';
import { defineStep, IN_PLACE } from './operation.ts';
import { colour } from './parameter.ts';

export const tint = defineStep({
  description: 'Colours the picture in one tone and keeps its brightness.',
  parameters: { color: colour('The tone.') },
  ...IN_PLACE,
  cpuMsPerMegapixel: 16,
  async apply(picture, { color }) {
    (await picture.at('tint')).tint(parseColour(color, 'color'));
  },
});

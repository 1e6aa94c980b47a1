import { parseColour } from '../colour/colour.ts';
import { LUMA_WEIGHTS } from '../facts/brightness.ts';
import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import { colourParameter } from './parameter.ts';

export const duotoneOperation = defineStepOperation({
  description: 'Draws the picture in two colours, one for the dark and one for the light tones.',
  parameters: {
    dark: colourParameter('Colour of the dark tones.'),
    light: colourParameter('Colour of the light tones.'),
  },
  ...IN_PLACE_EFFECTS,
  cpuMsPerMegapixel: 30,
  async apply(picture, { dark, light }) {
    const black = parseColour(dark, 'dark');
    const white = parseColour(light, 'light');
    const rowOf = (channel: 'r' | 'g' | 'b'): [number, number, number] => {
      const span = (white[channel] - black[channel]) / 255;
      return [LUMA_WEIGHTS[0] * span, LUMA_WEIGHTS[1] * span, LUMA_WEIGHTS[2] * span];
    };
    (await picture.at('recomb', 'linear'))
      .recomb([rowOf('r'), rowOf('g'), rowOf('b')])
      .linear([1, 1, 1], [black.r, black.g, black.b]);
  },
});

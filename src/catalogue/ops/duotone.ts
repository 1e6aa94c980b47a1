import { colour } from '../parameter.ts';
import { pixelOp, step } from '../pixel-op.ts';

export const duotone = pixelOp({
  op: 'duotone',
  description: 'Draws the picture in two colours, one for the dark and one for the light tones.',
  parameters: { dark: colour('Colour of the dark tones.'), light: colour('Colour of the light tones.') },
  example: { dark: '#1b1464', light: '#ffe26a' },
  compile: ({ dark, light }) => ({ steps: [step('duotone', { dark, light })] }),
});

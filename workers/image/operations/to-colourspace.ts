import { defineStep, IN_PLACE } from './operation.ts';
import { choice } from './parameter.ts';

export const toColourspace = defineStep({
  description:
    'Sets the colour space that the file is written in, where its format has it. Steps after it still work in sRGB.',
  parameters: { space: choice(['srgb', 'b-w', 'cmyk', 'rgb16', 'grey16'], 'The colour space.') },
  ...IN_PLACE,
  cpuMsPerMegapixel: 8,
  commutesWithFlatten: true,
  profile: ({ space }) => (space === 'srgb' || space === 'rgb16' ? undefined : 'none'),
  async apply(picture, { space }) {
    picture.writtenIn = space;
  },
});

import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import { choiceParameter } from './parameter.ts';

export const toColourspaceOperation = defineStepOperation({
  description:
    'Sets the colour space that the file is written in, where its format has it. Steps after it still work in sRGB.',
  parameters: { space: choiceParameter(['srgb', 'b-w', 'cmyk', 'rgb16', 'grey16'], 'The colour space.') },
  ...IN_PLACE_EFFECTS,
  cpuMsPerMegapixel: 8,
  commutesWithFlatten: true,
  profile: ({ space }) => (space === 'srgb' || space === 'rgb16' ? undefined : 'none'),
  async apply(picture, { space }) {
    picture.writtenIn = space;
  },
});

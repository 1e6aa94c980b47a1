import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';

export const greyscaleOperation = defineStepOperation({
  description: 'Takes the colour out and leaves shades of gray.',
  parameters: {},
  grey: 'makes',
  ...IN_PLACE_EFFECTS,
  cpuMsPerMegapixel: 13,
  async apply(picture) {
    // sharp's greyscale drops alpha when it returns pixels. A tint with a neutral tone removes the colours as well.
    if (picture.hasAlpha) (await picture.at('tint')).tint('#808080');
    else (await picture.at('greyscale')).greyscale();
  },
});

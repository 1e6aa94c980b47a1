import { defineStep, IN_PLACE } from './operation.ts';

export const greyscale = defineStep({
  description: 'Takes the colour out and leaves shades of gray.',
  parameters: {},
  grey: 'makes',
  ...IN_PLACE,
  cpuMsPerMegapixel: 13,
  async apply(picture) {
    // sharp's greyscale returns no alpha when it is asked for pixels. A tint with a neutral tone removes the colours as
    // well.
    if (picture.hasAlpha) (await picture.at('tint')).tint('#808080');
    else (await picture.at('greyscale')).greyscale();
  },
});

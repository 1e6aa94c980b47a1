import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import { flagParameter, integerParameter } from './parameter.ts';

export const thresholdOperation = defineStepOperation({
  description: 'Makes every pixel black or white.',
  parameters: {
    threshold: integerParameter(0, 255, 'Brightness from which a pixel becomes white.', { default: 128 }),
    greyscale: flagParameter('By brightness; false takes each channel separately.', { default: true }),
  },
  grey: ({ greyscale }) => (greyscale ? 'makes' : 'keeps'),
  ...IN_PLACE_EFFECTS,
  copies: 3,
  cpuMsPerMegapixel: 8,
  async apply(picture, { threshold, greyscale }) {
    // sharp treats 0 as "off", but here it makes every pixel white.
    if (threshold === 0) (await picture.at('linear')).linear(0, 255);
    else
      await picture.coloursAlone(async () => {
        (await picture.at('threshold')).threshold(threshold, { greyscale });
      });
  },
});

import { defineStep, IN_PLACE } from './operation.ts';
import { flag, integer } from './parameter.ts';

export const threshold = defineStep({
  description: 'Makes every pixel black or white.',
  parameters: {
    threshold: integer(0, 255, 'Brightness from which a pixel becomes white.', { default: 128 }),
    greyscale: flag('By brightness; false takes each channel separately.', { default: true }),
  },
  grey: ({ greyscale }) => (greyscale ? 'makes' : 'keeps'),
  ...IN_PLACE,
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

import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import { numberParameter } from './parameter.ts';

export const modulateOperation = defineStepOperation({
  description: 'Changes brightness, saturation, hue and lightness.',
  parameters: {
    brightness: numberParameter(0, 100, 'Factor.', { default: 1 }),
    saturation: numberParameter(0, 100, 'Factor; 0 is grey.', { default: 1 }),
    hue: numberParameter(-360, 360, 'Degrees around the colour wheel, rounded to whole ones.', {
      default: 0,
    }),
    lightness: numberParameter(-100, 100, 'Added to the lightness, which runs from 0 to 100.', {
      default: 0,
    }),
  },
  ...IN_PLACE_EFFECTS,
  changesNothing: ({ brightness, saturation, hue, lightness }) =>
    brightness === 1 && saturation === 1 && lightness === 0 && hue % 360 === 0,
  cpuMsPerMegapixel: 55,
  async apply(picture, { brightness, saturation, hue, lightness }) {
    (await picture.at('modulate')).modulate({
      brightness,
      saturation: saturation * darkening(brightness, lightness),
      hue: Math.round(hue),
      lightness,
    });
  },
});

/**
 * The factor by which a colour becomes darker, 0 to 1. The saturation is scaled by the same factor, because red without
 * any light is black.
 */
function darkening(brightness: number, lightness: number): number {
  return Math.min(1, brightness) * Math.min(1, (100 + lightness) / 100);
}

import type { Matrix3x3, Matrix4x4 } from 'sharp';
import { parseColour } from '../colour/colour.ts';
import { LUMA_WEIGHTS } from '../facts/brightness.ts';
import { BadArgumentError } from '../refusal.ts';
import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import * as parameter from './parameter.ts';
import { Type } from './schema.ts';

export const greyscale = defineStepOperation({
  description: 'Takes the colour out and leaves shades of gray.',
  parameters: {},
  grey: 'makes',
  ...IN_PLACE_EFFECTS,
  allowsScaleOnLoad: true,
  cpuMsPerMegapixel: 13,
  async apply(picture) {
    // sharp's greyscale drops alpha when it returns pixels. A tint with a neutral tone removes the colours as well.
    if (picture.hasAlpha) (await picture.at('tint')).tint('#808080');
    else (await picture.at('greyscale')).greyscale();
  },
});

export const modulate = defineStepOperation({
  description: 'Changes brightness, saturation, hue and lightness.',
  parameters: {
    brightness: parameter.number(0, 100, 'Factor.', { default: 1 }),
    saturation: parameter.number(0, 100, 'Factor; 0 is grey.', { default: 1 }),
    hue: parameter.number(-360, 360, 'Degrees around the colour wheel, rounded to whole ones.', {
      default: 0,
    }),
    lightness: parameter.number(-100, 100, 'Added to the lightness, which runs from 0 to 100.', {
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
      saturation: saturation * darkeningFactor(brightness, lightness),
      hue: Math.round(hue),
      lightness,
    });
  },
});

/**
 * The factor by which a colour becomes darker, 0 to 1. The saturation is scaled by the same factor, because red without
 * any light is black.
 */
function darkeningFactor(brightness: number, lightness: number): number {
  return Math.min(1, brightness) * Math.min(1, (100 + lightness) / 100);
}

export const tint = defineStepOperation({
  description: 'Colours the picture in one tone and keeps its brightness.',
  parameters: { color: parameter.colour('The tone.') },
  ...IN_PLACE_EFFECTS,
  cpuMsPerMegapixel: 16,
  async apply(picture, { color }) {
    (await picture.at('tint')).tint(parseColour(color, 'color'));
  },
});

export const duotone = defineStepOperation({
  description: 'Draws the picture in two colours, one for the dark and one for the light tones.',
  parameters: {
    dark: parameter.colour('Colour of the dark tones.'),
    light: parameter.colour('Colour of the light tones.'),
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

export const recomb = defineStepOperation({
  description: 'Mixes the colour channels by a matrix.',
  parameters: {
    matrix: Type.Array(parameter.numberList(3, 4, 'Weights of the channels in one result.'), {
      minItems: 3,
      maxItems: 4,
      description: 'A row for each result: 3 rows of 3, or 4 of 4 with alpha.',
    }),
  },
  ...IN_PLACE_EFFECTS,
  cpuMsPerMegapixel: 15,
  findInvalidArgument({ matrix }) {
    if (matrix.every((row) => row.length === matrix.length)) return undefined;
    const message = 'matrix is not square: send 3 rows of 3, or 4 of 4.';
    return new BadArgumentError('matrix', message);
  },
  async apply(picture, { matrix }) {
    if (matrix.length === 4 && !picture.hasAlpha) {
      const message = 'matrix has 4 rows, but the picture has no alpha channel: send 3 rows of 3.';
      throw new BadArgumentError('matrix', message);
    }
    (await picture.at('recomb')).recomb(matrix as unknown as Matrix3x3 | Matrix4x4);
  },
});

export const toColourspace = defineStepOperation({
  description:
    'Sets the colour space that the file is written in, where its format has it. Steps after it still work in sRGB.',
  parameters: { space: parameter.choice(['srgb', 'b-w', 'cmyk', 'rgb16', 'grey16'], 'The colour space.') },
  ...IN_PLACE_EFFECTS,
  cpuMsPerMegapixel: 8,
  commutesWithFlatten: true,
  profile: ({ space }) => (space === 'srgb' || space === 'rgb16' ? undefined : 'none'),
  async apply(picture, { space }) {
    picture.writtenIn = space;
  },
});

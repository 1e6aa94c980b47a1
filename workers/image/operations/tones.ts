import { type Brightness, measureBrightness } from '../facts/brightness.ts';
import { mapColourChannels } from '../pixels/paint.ts';
import { BadArgumentError } from '../refusal.ts';
import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import * as parameter from './parameter.ts';

export const gamma = defineStepOperation({
  description: 'Lifts the dark tones: each channel becomes its 1/gamma-th power.',
  parameters: { gamma: parameter.number(1, 3, '1 changes nothing.', { default: 2.2 }) },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  changesNothing: ({ gamma }) => gamma === 1,
  cpuMsPerMegapixel: 15,
  async apply(picture, { gamma }) {
    if (gamma === 1) return;
    // sharp's own gamma truncates where it should round: white would become 254.
    mapColourChannels(await picture.pixels(), (value) => Math.round(255 * (value / 255) ** (1 / gamma)));
  },
});

export const linear = defineStepOperation({
  description: 'Multiplies every colour channel by a, then adds b.',
  parameters: {
    a: parameter.number(-1000, 1000, 'Factor.', { default: 1 }),
    b: parameter.number(-100_000, 100_000, 'Offset, where channels run from 0 to 255.', { default: 0 }),
  },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  changesNothing: ({ a, b }) => a === 1 && b === 0,
  cpuMsPerMegapixel: 6,
  async apply(picture, { a, b }) {
    (await picture.at('linear')).linear(a, b);
  },
});

export const negate = defineStepOperation({
  description: 'Turns every colour into its opposite.',
  parameters: { alpha: parameter.flag('Whether transparency is inverted as well.', { default: false }) },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  cpuMsPerMegapixel: 8,
  async apply(picture, { alpha }) {
    (await picture.at('negate')).negate({ alpha });
  },
});

/** The number of bisections in the search for the exponent. More of them would not change an 8-bit result. */
const EXPONENT_BISECTIONS = 12;

export const normalise = defineStepOperation({
  description:
    'Stretches the tones so that they run from black to white, and the colours with them; a picture does not become darker by it.',
  parameters: {
    lower: parameter.number(0, 99, 'Percentile of the brightness that becomes black.', { default: 1 }),
    upper: parameter.number(1, 100, 'Percentile of the brightness that becomes white; above lower.', {
      default: 99,
    }),
  },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  cpuMsPerMegapixel: 50,
  findInvalidArgument({ lower, upper }) {
    if (lower < upper) return undefined;
    const message = `lower is ${lower}, but it must be below upper, which is ${upper}.`;
    return new BadArgumentError('lower', message, { received: lower });
  },
  // The frames are stretched together as one strip, because separate stretching would make them flicker.
  async apply(picture, { lower, upper }) {
    const pixels = await picture.pixels();
    const brightness = measureBrightness(pixels);
    const [dark, light] = [brightness.percentile(lower / 100), brightness.percentile(upper / 100)];
    // A picture of one tone cannot be stretched.
    if (light <= dark) return;
    const share = (value: number) => Math.min(1, Math.max(0, (value - dark) / (light - dark)));
    const exponent = exponentRestoringBrightness(brightness, share);
    mapColourChannels(pixels, (value) => Math.round(255 * share(value) ** exponent));
  },
});

/**
 * The exponent that restores the brightness of a picture that stretching would make darker. The exponent is 1 if
 * stretching makes the picture brighter. A picture whose darkest tones are far from black loses more in the dark tones
 * than it gains in the light ones.
 */
function exponentRestoringBrightness(brightness: Brightness, share: (value: number) => number): number {
  const before = brightness.mean((value) => value);
  const after = (exponent: number) => brightness.mean((value) => 255 * share(value) ** exponent);
  if (after(1) >= before) return 1;
  let [low, high] = [0, 1];
  for (let halving = 0; halving < EXPONENT_BISECTIONS; halving++) {
    const middle = (low + high) / 2;
    if (after(middle) >= before) low = middle;
    else high = middle;
  }
  return low;
}

export const clahe = defineStepOperation({
  description: 'Brings out detail by equalizing the contrast of small areas.',
  parameters: {
    width: parameter.integer(1, 1024, 'Width of an area in pixels.'),
    height: parameter.integer(1, 1024, 'Height of an area in pixels.'),
    maxSlope: parameter.integer(0, 100, 'How far contrast is raised; 0 sets no limit.', { default: 3 }),
  },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  cpuMsPerMegapixel: ({ width, height }) => 500 + 0.5 * width + 5 * height + 0.01 * height ** 2,
  frames: 'each',
  async apply(picture, { width, height, maxSlope }) {
    const area = { width: Math.min(width, picture.width), height: Math.min(height, picture.height) };
    (await picture.at('clahe')).clahe({ ...area, maxSlope });
  },
});

export const threshold = defineStepOperation({
  description: 'Makes every pixel black or white.',
  parameters: {
    threshold: parameter.integer(0, 255, 'Brightness from which a pixel becomes white.', { default: 128 }),
    greyscale: parameter.flag('By brightness; false takes each channel separately.', { default: true }),
  },
  grey: ({ greyscale }) => (greyscale ? 'makes' : 'keeps'),
  ...IN_PLACE_EFFECTS,
  copies: 3,
  cpuMsPerMegapixel: 8,
  async apply(picture, { threshold, greyscale }) {
    // sharp treats 0 as "off", but as a threshold it makes every pixel white.
    if (threshold === 0) (await picture.at('linear')).linear(0, 255);
    else
      await picture.workOnColours(async () => {
        (await picture.at('threshold')).threshold(threshold, { greyscale });
      });
  },
});

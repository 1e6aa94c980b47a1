import { type Brightness, measureBrightness } from '../facts/brightness.ts';
import { mapColourChannels } from '../pixels/paint.ts';
import { BadArgumentError } from '../refusal.ts';
import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import { numberParameter } from './parameter.ts';

/** Number of bisections in the search for the exponent. More precision than this is lost in 8 bits. */
const HALVINGS = 12;

export const normaliseOperation = defineStepOperation({
  description:
    'Stretches the tones so that they run from black to white, and the colours with them; a picture does not become darker by it.',
  parameters: {
    lower: numberParameter(0, 99, 'Percentile of the brightness that becomes black.', { default: 1 }),
    upper: numberParameter(1, 100, 'Percentile of the brightness that becomes white; above lower.', {
      default: 99,
    }),
  },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  cpuMsPerMegapixel: 50,
  rule({ lower, upper }) {
    if (lower < upper) return undefined;
    const message = `lower is ${lower}, but it must be below upper, which is ${upper}.`;
    return new BadArgumentError('lower', message, { received: lower });
  },
  // The strip is stretched as a whole, because frames that are stretched separately would flicker.
  async apply(picture, { lower, upper }) {
    const pixels = await picture.pixels();
    const brightness = measureBrightness(pixels);
    const [dark, light] = [brightness.percentile(lower / 100), brightness.percentile(upper / 100)];
    // A picture of one tone cannot be stretched.
    if (light <= dark) return;
    const share = (value: number) => Math.min(1, Math.max(0, (value - dark) / (light - dark)));
    const exponent = undarkened(brightness, share);
    mapColourChannels(pixels, (value) => Math.round(255 * share(value) ** exponent));
  },
});

/**
 * The exponent that restores the brightness of a picture that stretching would make darker; 1 if stretching makes it
 * brighter. A picture whose darkest tones are far from black loses more in the dark tones than it gains in the light
 * ones.
 */
function undarkened(brightness: Brightness, share: (value: number) => number): number {
  const before = brightness.mean((value) => value);
  const after = (exponent: number) => brightness.mean((value) => 255 * share(value) ** exponent);
  if (after(1) >= before) return 1;
  let [low, high] = [0, 1];
  for (let halving = 0; halving < HALVINGS; halving++) {
    const middle = (low + high) / 2;
    if (after(middle) >= before) low = middle;
    else high = middle;
  }
  return low;
}

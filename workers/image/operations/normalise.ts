import { BadArgument } from '../refusal.ts';
import { step } from './operation.ts';
import { number } from './parameter.ts';

export const normalise = step({
  description: 'Stretches the brightness so that it runs from black to white.',
  parameters: {
    lower: number(0, 99, 'Percentile of the brightness that becomes black; below upper.', { default: 1 }),
    upper: number(1, 100, 'Percentile of the brightness that becomes white.', { default: 99 }),
  },
  cost: 1,
  rule({ lower, upper }) {
    if (lower < upper) return undefined;
    return new BadArgument('lower', `lower is ${lower}, but it must be below upper, which is ${upper}.`);
  },
  // Over the strip as a whole: frames stretched each for itself would flicker.
  async apply(picture, { lower, upper }) {
    (await picture.at('normalise')).normalise({ lower, upper });
  },
});

import { step } from './operation.ts';
import { number } from './parameter.ts';

export const gamma = step({
  description: 'Lifts the dark tones: each channel becomes its 1/gamma-th power.',
  parameters: { gamma: number(1, 3, '1 changes nothing.', { default: 2.2 }) },
  cost: 0.3,
  async apply(picture, { gamma }) {
    // The first of sharp's two gammas darkens before other steps, so that they work on linear light: 1 leaves that out.
    (await picture.at('gammaIn', 'gammaOut')).gamma(1, gamma);
  },
});

import { defineStep, IN_PLACE } from './operation.ts';
import { number } from './parameter.ts';

export const linear = defineStep({
  description: 'Multiplies every colour channel by a, then adds b.',
  parameters: {
    a: number(-1000, 1000, 'Factor.', { default: 1 }),
    b: number(-100_000, 100_000, 'Offset, where channels run from 0 to 255.', { default: 0 }),
  },
  grey: 'keeps',
  ...IN_PLACE,
  changesNothing: ({ a, b }) => a === 1 && b === 0,
  cpuMsPerMegapixel: 6,
  async apply(picture, { a, b }) {
    (await picture.at('linear')).linear(a, b);
  },
});

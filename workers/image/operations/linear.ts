import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import { numberParameter } from './parameter.ts';

export const linearOperation = defineStepOperation({
  description: 'Multiplies every colour channel by a, then adds b.',
  parameters: {
    a: numberParameter(-1000, 1000, 'Factor.', { default: 1 }),
    b: numberParameter(-100_000, 100_000, 'Offset, where channels run from 0 to 255.', { default: 0 }),
  },
  grey: 'keeps',
  ...IN_PLACE_EFFECTS,
  changesNothing: ({ a, b }) => a === 1 && b === 0,
  cpuMsPerMegapixel: 6,
  async apply(picture, { a, b }) {
    (await picture.at('linear')).linear(a, b);
  },
});

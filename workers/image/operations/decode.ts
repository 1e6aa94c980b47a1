import { Type } from '@sinclair/typebox';
import { defineSetting } from './operation.ts';
import { integer, optional } from './parameter.ts';

export const decode = defineSetting({
  description: 'Sets how the input is read.',
  parameters: {
    frame: optional(
      Type.Union([Type.Literal('first'), Type.Literal('all'), Type.Integer({ minimum: 0 })], {
        description:
          'Which frames are read: first, all, or one by its index from 0; all is the default when input and result can both move.',
      }),
    ),
    density: optional(integer(1, 2400, 'Dots per inch at which vector input is drawn.')),
  },
  settings: (params) => ({ decode: params }),
});

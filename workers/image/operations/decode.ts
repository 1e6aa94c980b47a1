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
    density: optional(
      integer(
        1,
        2400,
        'Dots per inch at which a drawing (SVG) is drawn, whatever its units: 96, the default, draws a CSS pixel as one pixel and an inch as 96. Without it, a resize at the start draws in the size that it asks for.',
      ),
    ),
  },
  settings: (params) => ({ decode: params }),
});

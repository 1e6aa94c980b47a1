import { Type } from '@sinclair/typebox';
import { defineSettingOperation } from './operation.ts';
import { integerParameter, numberParameter, optionalParameter } from './parameter.ts';

export const decodeOperation = defineSettingOperation({
  description: 'Sets how the input is read.',
  parameters: {
    frame: optionalParameter(
      Type.Union([Type.Literal('first'), Type.Literal('all'), Type.Integer({ minimum: 0 })], {
        description:
          'Which frames are read: first, all, or one by its index from 0; all is the default when input and result can both move.',
      }),
    ),
    frames: optionalParameter(
      Type.String({
        pattern: '^\\d{1,6}\\.\\.\\d{1,6}$',
        examples: ['10..99'],
        description:
          'The frames of an animation that are read, from and to their index from 0, both included; instead of frame.',
      }),
    ),
    everyNth: optionalParameter(
      integerParameter(
        2,
        100,
        'Reads the first of so many frames. The time of frames that are left out goes to the frame before.',
      ),
    ),
    maxFps: optionalParameter(
      numberParameter(
        1,
        60,
        'Reads at most so many frames of each second. The time of frames that are left out goes to the frame before.',
      ),
    ),
    maxFrames: optionalParameter(
      integerParameter(
        1,
        1000,
        'Reads at most so many frames, the first that frames, everyNth and maxFps leave.',
      ),
    ),
    density: optionalParameter(
      integerParameter(
        1,
        2400,
        'Dots per inch at which a drawing (SVG) is drawn: 96, the default, draws a CSS pixel as one pixel. Without it, a resize at the start draws in the size that it asks for.',
      ),
    ),
  },
  settings: (params) => ({ decode: params }),
});

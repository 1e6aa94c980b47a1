import { numberParameter, optionalParameter } from '../../../../workers/image/operations/parameter.ts';
import { definePixelOp, operationStep } from '../pixel-op.ts';

/** The value that contrast leaves unchanged: the middle of the 8-bit range. */
const MIDDLE = 128;

export const adjustOp = definePixelOp({
  op: 'adjust',
  description: 'Changes brightness, contrast, saturation, hue, lightness and gamma; what is left out stays.',
  parameters: {
    brightness: optionalParameter(numberParameter(0, 10, 'Factor; 1 changes nothing.')),
    contrast: optionalParameter(numberParameter(0, 10, 'Factor around mid gray; 1 changes nothing.')),
    saturation: optionalParameter(numberParameter(0, 10, 'Factor; 0 is gray, 1 changes nothing.')),
    hue: optionalParameter(numberParameter(-360, 360, 'Degrees around the colour wheel; 0 changes nothing.')),
    lightness: optionalParameter(numberParameter(-100, 100, 'Added to the lightness; 0 changes nothing.')),
    gamma: optionalParameter(numberParameter(1, 3, 'Lifts the dark tones; 1 changes nothing.')),
  },
  example: { brightness: 1.1, contrast: 1.05, saturation: 1.2 },
  renamed: { a: ['contrast'], b: ['contrast'] },
  compile({ brightness, contrast, saturation, hue, lightness, gamma }) {
    const modulated = [brightness, saturation, hue, lightness].some((value) => value !== undefined);
    return {
      steps: [
        ...(modulated ? [operationStep('modulate', { brightness, saturation, hue, lightness })] : []),
        ...(contrast === undefined
          ? []
          : [operationStep('linear', { a: contrast, b: MIDDLE * (1 - contrast) })]),
        ...(gamma === undefined ? [] : [operationStep('gamma', { gamma })]),
      ],
    };
  },
});

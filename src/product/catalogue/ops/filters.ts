import { OPERATIONS } from '../../../../workers/image/operations/index.ts';
import * as parameter from '../../../../workers/image/operations/parameter.ts';
import { adaptParameter } from '../parameters.ts';
import { definePixelOp, operationStep } from '../pixel-op.ts';

/** The maximum strength in flat and in jagged areas. sharp accepts greater ones, but they only amplify noise. */
const MAX_SHARPEN_STRENGTH = 100;

export const sharpenOp = definePixelOp({
  op: 'sharpen',
  description: 'Sharpens edges, with separate strength for flat and for detailed areas.',
  parameters: {
    sigma: OPERATIONS.sharpen.declared.sigma,
    flat: adaptParameter(OPERATIONS.sharpen.declared.m1, { maximum: MAX_SHARPEN_STRENGTH }),
    jagged: adaptParameter(OPERATIONS.sharpen.declared.m2, { maximum: MAX_SHARPEN_STRENGTH }),
  },
  example: { sigma: 1.5 },
  renamed: { m1: ['flat'], m2: ['jagged'] },
  compile: ({ sigma, flat, jagged }) => ({
    steps: [operationStep('sharpen', { sigma, m1: flat, m2: jagged })],
  }),
});

/** The weights that browsers use for CSS sepia(1). */
const SEPIA_MATRIX = [
  [0.393, 0.769, 0.189],
  [0.349, 0.686, 0.168],
  [0.272, 0.534, 0.131],
];

export const sepiaOp = definePixelOp({
  op: 'sepia',
  description: 'Gives the picture the brown tone of an old photograph.',
  parameters: {},
  example: { format: 'jpeg' },
  renamed: { matrix: [] },
  compile: () => ({ steps: [operationStep('recomb', { matrix: SEPIA_MATRIX })] }),
});

/** The value that contrast leaves unchanged: the middle of the 8-bit range. */
const MID_GREY = 128;

export const adjustOp = definePixelOp({
  op: 'adjust',
  description: 'Changes brightness, contrast, saturation, hue, lightness and gamma; what is left out stays.',
  parameters: {
    brightness: parameter.optional(parameter.number(0, 10, 'Factor; 1 changes nothing.')),
    contrast: parameter.optional(parameter.number(0, 10, 'Factor around mid gray; 1 changes nothing.')),
    saturation: parameter.optional(parameter.number(0, 10, 'Factor; 0 is gray, 1 changes nothing.')),
    hue: parameter.optional(
      parameter.number(-360, 360, 'Degrees around the colour wheel; 0 changes nothing.'),
    ),
    lightness: parameter.optional(parameter.number(-100, 100, 'Added to the lightness; 0 changes nothing.')),
    gamma: parameter.optional(parameter.number(1, 3, 'Lifts the dark tones; 1 changes nothing.')),
  },
  example: { brightness: 1.1, contrast: 1.05, saturation: 1.2 },
  renamed: { a: ['contrast'], b: ['contrast'] },
  compile({ brightness, contrast, saturation, hue, lightness, gamma }) {
    const needsModulate = [brightness, saturation, hue, lightness].some((value) => value !== undefined);
    return {
      steps: [
        ...(needsModulate ? [operationStep('modulate', { brightness, saturation, hue, lightness })] : []),
        ...(contrast === undefined
          ? []
          : [operationStep('linear', { a: contrast, b: MID_GREY * (1 - contrast) })]),
        ...(gamma === undefined ? [] : [operationStep('gamma', { gamma })]),
      ],
    };
  },
});

export const thresholdOp = definePixelOp({
  op: 'threshold',
  description: 'Makes every pixel black or white, by its brightness.',
  parameters: { value: OPERATIONS.threshold.declared.threshold },
  example: { value: 128 },
  renamed: { threshold: ['value'] },
  compile: ({ value }) => ({ steps: [operationStep('threshold', { threshold: value })] }),
});

export const flattenOp = definePixelOp({
  op: 'flatten',
  description: 'Lays the picture on a solid background, white when left out, and drops its transparency.',
  parameters: {},
  example: { background: '#ffffff' },
  compile: ({ background = '#ffffff' }) => ({ steps: [operationStep('flatten', { background })] }),
});

import { OPERATIONS } from '../../../../workers/image/operations/index.ts';
import { adaptParameter } from '../parameter.ts';
import { definePixelOp, operationStep } from '../pixel-op.ts';

/** The maximum on sharp's scale. Higher values only amplify noise. */
const MAX_STRENGTH = 100;

export const sharpenOp = definePixelOp({
  op: 'sharpen',
  description: 'Sharpens edges, with separate strength for flat and for detailed areas.',
  parameters: {
    sigma: OPERATIONS.sharpen.declared.sigma,
    flat: adaptParameter(OPERATIONS.sharpen.declared.m1, { maximum: MAX_STRENGTH }),
    jagged: adaptParameter(OPERATIONS.sharpen.declared.m2, { maximum: MAX_STRENGTH }),
  },
  example: { sigma: 1.5 },
  renamed: { m1: ['flat'], m2: ['jagged'] },
  compile: ({ sigma, flat, jagged }) => ({
    steps: [operationStep('sharpen', { sigma, m1: flat, m2: jagged })],
  }),
});

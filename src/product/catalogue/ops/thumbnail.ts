import { gravityParameter, integerParameter } from '../../../../workers/image/operations/parameter.ts';
import { definePixelOp, operationStep } from '../pixel-op.ts';

export const thumbnailOp = definePixelOp({
  op: 'thumbnail',
  description: 'Makes a square preview that keeps the most interesting part of the picture.',
  parameters: {
    size: integerParameter(16, 2048, 'Edge of the square in pixels.', { default: 256 }),
    gravity: gravityParameter('Which part of the picture fills the square.', { default: 'attention' }),
  },
  example: { size: 256, format: 'webp' },
  renamed: { width: ['size'], height: ['size'], fit: [], enlarge: [] },
  compile: ({ size, gravity }) => ({
    steps: [operationStep('resize', { width: size, height: size, fit: 'cover', gravity, enlarge: true })],
  }),
});

import { definePixelOp, operationStep } from '../pixel-op.ts';

export const flattenOp = definePixelOp({
  op: 'flatten',
  description: 'Lays the picture on a solid background, white when left out, and drops its transparency.',
  parameters: {},
  example: { background: '#ffffff' },
  compile: ({ background = '#ffffff' }) => ({ steps: [operationStep('flatten', { background })] }),
});

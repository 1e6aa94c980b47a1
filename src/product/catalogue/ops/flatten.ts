import { pixelOp, step } from '../pixel-op.ts';

export const flatten = pixelOp({
  op: 'flatten',
  description: 'Lays the picture on a solid background, white when left out, and drops its transparency.',
  parameters: {},
  example: { background: '#ffffff' },
  compile: ({ background = '#ffffff' }) => ({ steps: [step('flatten', { background })] }),
});

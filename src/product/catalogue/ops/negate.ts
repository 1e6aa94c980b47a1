import { definePixelOp, operationStep } from '../pixel-op.ts';

export const negateOp = definePixelOp({
  op: 'negate',
  description: 'Turns every colour into its opposite; transparency stays.',
  parameters: {},
  example: { format: 'png' },
  compile: () => ({ steps: [operationStep('negate', {})] }),
});

import { pixelOp, step } from '../pixel-op.ts';

export const negate = pixelOp({
  op: 'negate',
  description: 'Turns every colour into its opposite; transparency stays.',
  parameters: {},
  example: { format: 'png' },
  compile: () => ({ steps: [step('negate', {})] }),
});

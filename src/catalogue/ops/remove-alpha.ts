import { pixelOp, step } from '../pixel-op.ts';

export const removeAlpha = pixelOp({
  op: 'remove_alpha',
  description: 'Drops the transparency and shows the colours that lay under it.',
  parameters: {},
  example: { format: 'png' },
  compile: () => ({ steps: [step('removeAlpha')] }),
});

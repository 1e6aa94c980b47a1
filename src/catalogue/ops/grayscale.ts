import { pixelOp, step } from '../pixel-op.ts';

export const grayscale = pixelOp({
  op: 'grayscale',
  description: 'Takes the colour out and leaves shades of gray.',
  parameters: {},
  example: { format: 'png' },
  compile: () => ({ steps: [step('greyscale')] }),
});

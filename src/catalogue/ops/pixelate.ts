import { integer } from '../parameter.ts';
import { pixelOp, step } from '../pixel-op.ts';

export const pixelate = pixelOp({
  op: 'pixelate',
  description: 'Turns the picture into coarse blocks.',
  parameters: { size: integer(2, 512, 'Edge of a block in pixels.', { default: 16 }) },
  example: { size: 16 },
  compile: ({ size }) => ({ steps: [step('pixelate', { size })] }),
});

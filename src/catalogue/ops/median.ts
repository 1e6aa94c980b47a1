import { integer } from '../parameter.ts';
import { pixelOp, step } from '../pixel-op.ts';

export const median = pixelOp({
  op: 'median',
  description: 'Removes speckles: each pixel becomes the middle value of those around it.',
  parameters: { size: integer(1, 25, 'Edge of the square that is looked at, in pixels.', { default: 3 }) },
  example: { size: 5 },
  compile: ({ size }) => ({ steps: [step('median', { size })] }),
});

import { number } from '../parameter.ts';
import { pixelOp, step } from '../pixel-op.ts';

export const alpha = pixelOp({
  op: 'alpha',
  description: 'Makes the whole picture more transparent.',
  parameters: { opacity: number(0, 1, 'What stays of the opacity: 0 is invisible, 1 changes nothing.') },
  example: { opacity: 0.5, format: 'png' },
  compile: ({ opacity }) => ({ steps: [step('opacity', { opacity })] }),
});

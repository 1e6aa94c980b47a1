import { number } from '../parameter.ts';
import { pixelOp, step } from '../pixel-op.ts';

export const trim = pixelOp({
  op: 'trim',
  description: 'Cuts away edges that look like the background, by default like the top left pixel.',
  parameters: {
    threshold: number(0, 255, 'How far a pixel may differ from the background and still be cut away.', {
      default: 10,
    }),
  },
  example: { threshold: 10 },
  compile: ({ threshold, background }) => ({ steps: [step('trim', { threshold, background })] }),
});

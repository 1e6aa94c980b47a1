import { number } from '../parameter.ts';
import { pixelOp, step } from '../pixel-op.ts';

export const blur = pixelOp({
  op: 'blur',
  description: 'Blurs the whole picture evenly, by as much as sigma says.',
  parameters: {
    sigma: number(0.3, 250, 'Strength of the blur: the standard deviation in pixels.', { default: 3 }),
  },
  example: { sigma: 5 },
  compile: ({ sigma }) => ({ steps: [step('blur', { sigma })] }),
});

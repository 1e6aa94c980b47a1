import { number } from '../parameter.ts';
import { pixelOp, step } from '../pixel-op.ts';

export const sharpen = pixelOp({
  op: 'sharpen',
  description: 'Sharpens edges, with separate strength for flat and for detailed areas.',
  parameters: {
    sigma: number(0.1, 10, 'Width of the edges that are sharpened, in pixels.', { default: 1 }),
    flat: number(0, 100, 'Strength in flat areas.', { default: 1 }),
    jagged: number(0, 100, 'Strength in detailed areas.', { default: 2 }),
  },
  example: { sigma: 1.5 },
  renamed: { m1: ['flat'], m2: ['jagged'] },
  compile: ({ sigma, flat, jagged }) => ({ steps: [step('sharpen', { sigma, m1: flat, m2: jagged })] }),
});

import { number } from '../parameter.ts';
import { pixelOp, step } from '../pixel-op.ts';

export const normalize = pixelOp({
  op: 'normalize',
  description:
    'Stretches the tones so that they run from black to white, and the colours with them; a picture does not become darker by it.',
  parameters: {
    lower: number(0, 99, 'Percentile of the brightness that becomes black.', { default: 1 }),
    upper: number(1, 100, 'Percentile of the brightness that becomes white; above lower.', { default: 99 }),
  },
  example: { lower: 1, upper: 99 },
  rule({ lower = 1, upper = 99 }) {
    if (lower < upper) return undefined;
    return {
      key: 'lower',
      message: `lower is ${lower}, but it must be below upper, which is ${upper}.`,
      details: { received: lower },
    };
  },
  compile: ({ lower, upper }) => ({ steps: [step('normalise', { lower, upper })] }),
});

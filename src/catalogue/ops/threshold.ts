import { integer } from '../parameter.ts';
import { pixelOp, step } from '../pixel-op.ts';

export const threshold = pixelOp({
  op: 'threshold',
  description: 'Makes every pixel black or white, by its brightness.',
  parameters: { value: integer(0, 255, 'Brightness from which a pixel becomes white.', { default: 128 }) },
  example: { value: 128 },
  renamed: { threshold: ['value'] },
  compile: ({ value }) => ({ steps: [step('threshold', { threshold: value })] }),
});

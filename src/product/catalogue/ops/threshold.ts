import { OPERATIONS } from '../../../../workers/image/operations/index.ts';
import { pixelOp, step } from '../pixel-op.ts';

export const threshold = pixelOp({
  op: 'threshold',
  description: 'Makes every pixel black or white, by its brightness.',
  parameters: { value: OPERATIONS.threshold.declared.threshold },
  example: { value: 128 },
  renamed: { threshold: ['value'] },
  compile: ({ value }) => ({ steps: [step('threshold', { threshold: value })] }),
});

import { OPERATIONS } from '../../../../workers/image/operations/index.ts';
import { definePixelOp, operationStep } from '../pixel-op.ts';

export const thresholdOp = definePixelOp({
  op: 'threshold',
  description: 'Makes every pixel black or white, by its brightness.',
  parameters: { value: OPERATIONS.threshold.declared.threshold },
  example: { value: 128 },
  renamed: { threshold: ['value'] },
  compile: ({ value }) => ({ steps: [operationStep('threshold', { threshold: value })] }),
});

import { OPERATIONS } from '../../../../workers/image/operations/index.ts';
import { definePixelOp, operationStep } from '../pixel-op.ts';

export const trimOp = definePixelOp({
  op: 'trim',
  description: 'Cuts away edges that look like the background, by default like the top left pixel.',
  parameters: { threshold: OPERATIONS.trim.declared.threshold },
  example: { threshold: 10 },
  compile: ({ threshold, background }) => ({ steps: [operationStep('trim', { threshold, background })] }),
});

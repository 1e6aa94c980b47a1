import { OPERATIONS } from '../../../../workers/image/operations/index.ts';
import { adaptParameter } from '../parameter.ts';
import { definePixelOp, operationStep } from '../pixel-op.ts';

export const blurOp = definePixelOp({
  op: 'blur',
  description: 'Blurs the whole picture evenly, by as much as sigma says.',
  parameters: { sigma: adaptParameter(OPERATIONS.blur.declared.sigma, { maximum: 250 }) },
  example: { sigma: 5 },
  compile: ({ sigma }) => ({ steps: [operationStep('blur', { sigma })] }),
});

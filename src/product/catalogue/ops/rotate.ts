import { OPERATIONS } from '../../../../workers/image/operations/index.ts';
import { definePixelOp, operationStep } from '../pixel-op.ts';

export const rotateOp = definePixelOp({
  op: 'rotate',
  description: 'Turns the picture clockwise by any angle; corners that open up take the background.',
  parameters: { angle: OPERATIONS.rotate.declared.angle },
  example: { angle: 90 },
  compile: ({ angle, background }) => ({ steps: [operationStep('rotate', { angle, background })] }),
});

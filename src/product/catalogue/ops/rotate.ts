import { OPERATIONS } from '../../../../workers/image/operations/index.ts';
import { pixelOp, step } from '../pixel-op.ts';

export const rotate = pixelOp({
  op: 'rotate',
  description: 'Turns the picture clockwise by any angle; corners that open up take the background.',
  parameters: { angle: OPERATIONS.rotate.declared.angle },
  example: { angle: 90 },
  compile: ({ angle, background }) => ({ steps: [step('rotate', { angle, background })] }),
});

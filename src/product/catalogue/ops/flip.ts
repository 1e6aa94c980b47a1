import { choiceParameter } from '../../../../workers/image/operations/parameter.ts';
import { definePixelOp, operationStep } from '../pixel-op.ts';

const STEPS = {
  horizontal: [operationStep('flop', {})],
  vertical: [operationStep('flip', {})],
  both: [operationStep('flip', {}), operationStep('flop', {})],
};

export const flipOp = definePixelOp({
  op: 'flip',
  description: 'Mirrors the picture left to right, top to bottom, or both.',
  parameters: {
    axis: choiceParameter(
      ['horizontal', 'vertical', 'both'],
      'horizontal mirrors left and right, vertical mirrors top and bottom.',
      { default: 'horizontal' },
    ),
  },
  example: { axis: 'horizontal' },
  compile: ({ axis }) => ({ steps: STEPS[axis] }),
});

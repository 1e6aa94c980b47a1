import { choiceParameter } from '../../../../workers/image/operations/parameter.ts';
import { pixelOp, step } from '../pixel-op.ts';

const STEPS = {
  horizontal: [step('flop', {})],
  vertical: [step('flip', {})],
  both: [step('flip', {}), step('flop', {})],
};

export const flip = pixelOp({
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

import { integerParameter } from '../../../../workers/image/operations/parameter.ts';
import { defineImageModelOp } from '../image-model-op.ts';

const MAX_MARGIN_PX = 2000;
const SIDES = ['top', 'right', 'bottom', 'left'];

export const expandOp = defineImageModelOp({
  op: 'expand',
  description: 'Continues each picture beyond its edges.',
  parameters: {
    top: integerParameter(0, MAX_MARGIN_PX, 'Pixels to add above.', { default: 0 }),
    right: integerParameter(0, MAX_MARGIN_PX, 'Pixels to add on the right.', { default: 0 }),
    bottom: integerParameter(0, MAX_MARGIN_PX, 'Pixels to add below.', { default: 0 }),
    left: integerParameter(0, MAX_MARGIN_PX, 'Pixels to add on the left.', { default: 0 }),
  },
  rule: (given) =>
    SIDES.every((side) => (given[side] ?? 0) === 0)
      ? { key: 'top', message: 'One of top, right, bottom and left must be above 0.', details: { min: 1 } }
      : undefined,
  jobType: 'ai-edit',
  requiresAssets: true,
  requiresPrompt: false,
  example: { parameters: { left: 256, right: 256 } },
});

import { integer } from '../../../../workers/image/operations/parameter.ts';
import { imageModelOp } from '../image-model-op.ts';

const MAX_MARGIN_PX = 2000;

export const expand = imageModelOp({
  op: 'expand',
  description: 'Continues each picture beyond its edges.',
  parameters: {
    top: integer(0, MAX_MARGIN_PX, 'Pixels to add above.', { default: 0 }),
    right: integer(0, MAX_MARGIN_PX, 'Pixels to add on the right.', { default: 0 }),
    bottom: integer(0, MAX_MARGIN_PX, 'Pixels to add below.', { default: 0 }),
    left: integer(0, MAX_MARGIN_PX, 'Pixels to add on the left.', { default: 0 }),
  },
  jobType: 'ai-edit',
  requiresAssets: true,
  requiresPrompt: false,
  example: { parameters: { left: 256, right: 256 } },
});

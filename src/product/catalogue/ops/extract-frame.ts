import { integerParameter } from '../../../../workers/image/operations/parameter.ts';
import { definePixelOp } from '../pixel-op.ts';

export const extractFrameOp = definePixelOp({
  op: 'extract_frame',
  description: 'Takes one frame out of an animation, or one page out of a document.',
  parameters: { frame: integerParameter(0, 99_999, 'Index of the frame, from 0.', { default: 0 }) },
  example: { frame: 0, format: 'png' },
  compile: () => ({}),
});

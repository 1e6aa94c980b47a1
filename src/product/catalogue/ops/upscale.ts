import { Type } from '@sinclair/typebox';
import { defineImageModelOp } from '../image-model-op.ts';

export const upscaleOp = defineImageModelOp({
  op: 'upscale',
  description: 'Enlarges each picture and fills in fine detail.',
  parameters: {
    scale: Type.Unsafe<2 | 4>({
      type: 'integer',
      enum: [2, 4],
      default: 2,
      description: 'Factor by which width and height grow.',
    }),
  },
  jobType: 'ai-edit',
  requiresAssets: true,
  requiresPrompt: false,
  example: { parameters: { scale: 2 } },
});

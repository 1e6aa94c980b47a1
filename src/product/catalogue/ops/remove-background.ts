import { defineImageModelOp } from '../image-model-op.ts';

export const removeBackgroundOp = defineImageModelOp({
  op: 'remove_background',
  description: 'Cuts the subject out of each picture and leaves the rest transparent.',
  parameters: {},
  jobType: 'ai-edit',
  requiresAssets: true,
  requiresPrompt: false,
  example: {},
});

import { Type } from '@sinclair/typebox';
import { integerParameter, optionalParameter } from '../../../../workers/image/operations/parameter.ts';
import { defineImageModelOp } from '../image-model-op.ts';
import { promptField } from '../parameter.ts';

export const generateOp = defineImageModelOp({
  op: 'generate',
  description: 'Makes one or more new images from a prompt alone.',
  parameters: {
    size: optionalParameter(
      Type.String({
        pattern: '^[1-9]\\d{1,4}x[1-9]\\d{1,4}$',
        examples: ['1024x1024'],
        description: "Width and height in pixels, such as 1024x1024; the model's own when left out.",
      }),
    ),
    seed: optionalParameter(
      integerParameter(0, 4_294_967_295, 'Repeats a result where the model can; random when left out.'),
    ),
  },
  fields: {
    prompt: promptField('What the image shows.'),
    count: integerParameter(1, 10, 'How many images to make.', { default: 1 }),
  },
  jobType: 'ai-generate',
  requiresAssets: false,
  requiresPrompt: true,
  example: { prompt: 'A lighthouse at dusk, watercolour', count: 1, parameters: { size: '1024x1024' } },
});

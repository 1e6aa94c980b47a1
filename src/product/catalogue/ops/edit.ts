import { Type } from '@sinclair/typebox';
import {
  assetIdParameter,
  integerParameter,
  optionalParameter,
} from '../../../../workers/image/operations/parameter.ts';
import { imageModelOp } from '../image-model-op.ts';
import { prompt } from '../parameter.ts';

export const edit = imageModelOp({
  op: 'edit',
  description: 'Changes each picture as the prompt says.',
  parameters: {
    seed: optionalParameter(
      integerParameter(0, 4_294_967_295, 'Repeats a result where the model can; random when left out.'),
    ),
  },
  fields: {
    prompt: prompt('What to change.'),
    assetIds: Type.Array(assetIdParameter('One asset.'), {
      minItems: 1,
      maxItems: 10_000,
      description: 'The pictures to change, one item each.',
    }),
  },
  jobType: 'ai-edit',
  requiresAssets: true,
  requiresPrompt: true,
  example: { prompt: 'Replace the sky with a clear sunset' },
});

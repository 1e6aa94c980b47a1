import { Type } from '@sinclair/typebox';
import {
  assetIdParameter,
  integerParameter,
  optionalParameter,
} from '../../../../workers/image/operations/parameter.ts';
import { defineImageModelOp } from '../image-model-op.ts';
import { promptField } from '../parameter.ts';

export const editOp = defineImageModelOp({
  op: 'edit',
  description: 'Changes each picture as the prompt says.',
  parameters: {
    seed: optionalParameter(
      integerParameter(0, 4_294_967_295, 'Repeats a result where the model can; random when left out.'),
    ),
  },
  fields: {
    prompt: promptField('What to change.'),
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

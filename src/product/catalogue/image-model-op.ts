import type { TProperties } from '@sinclair/typebox';
import { argumentsSchema } from '../../../workers/image/operations/parameter.ts';
import type { ModelCategory } from '../models/models.ts';
import type { AiOp } from './op.ts';

interface ImageModelOpSource<N extends ModelCategory>
  extends Pick<
    AiOp<N>,
    'op' | 'description' | 'jobType' | 'requiresAssets' | 'requiresPrompt' | 'example' | 'rule'
  > {
  /**
   * The parameters that every model of the category understands. The limits of a single model are in
   * config/models.json.
   */
  parameters: TProperties;
  fields?: TProperties;
}

/** An op that makes an image by a model. */
export function defineImageModelOp<const N extends ModelCategory>(source: ImageModelOpSource<N>): AiOp<N> {
  const { parameters, fields = {}, ...rest } = source;
  return {
    ...rest,
    runs: 'model',
    kind: 'ai',
    parameters: argumentsSchema(parameters, { open: true }),
    fields,
    produces: 'image',
    parametersAsSent: true,
  };
}

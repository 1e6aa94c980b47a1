import type { TProperties } from '@sinclair/typebox';
import type { ModelCategory } from '../models/models.ts';
import type { AiOp, Given } from './op.ts';
import { contract } from './parameter.ts';

interface ImageModelOpSource<N extends ModelCategory> {
  op: N;
  description: string;
  /** Parameters that every model of the category understands; others go to the model as sent. */
  parameters: TProperties;
  fields?: TProperties;
  jobType: 'ai-generate' | 'ai-edit';
  requiresAssets: boolean;
  requiresPrompt: boolean;
  example: Given;
}

/** An op that a model turns into an image; its model category carries its own name. */
export function imageModelOp<const N extends ModelCategory>(source: ImageModelOpSource<N>): AiOp<N> {
  const { parameters, fields = {}, ...rest } = source;
  return {
    ...rest,
    runs: 'model',
    kind: 'ai',
    parameters: contract(parameters, { open: true }),
    fields,
    produces: 'image',
    modelCategory: source.op,
    parametersAsSent: true,
  };
}

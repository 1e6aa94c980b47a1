import { type TProperties, Type } from '@sinclair/typebox';
import { firstViolation } from './contract.ts';
import type { AiOp, Given, ModelCategory } from './op.ts';
import { contract } from './pixel-op.ts';

interface ImageModelOpSource {
  op: ModelCategory & AiOp['op'];
  description: string;
  /** Parameters that every model of the category understands; others go to the model as sent. */
  parameters: TProperties;
  fields?: TProperties;
  jobType: 'ai-generate' | 'ai-edit';
  requiresAssets: boolean;
  requiresPrompt: boolean;
  defaultModel: string;
  example: Given;
}

/** An op that a model turns into an image; its model category carries its own name. */
export function imageModelOp(source: ImageModelOpSource): AiOp {
  const { parameters, fields = {}, ...rest } = source;
  const known = contract(
    Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, Type.Optional(schema)])),
    { open: true },
  );
  return {
    ...rest,
    // A field that is sent among the parameters is held to its bounds there as well.
    rule: (given) => firstViolation(known, given, source.op),
    kind: 'ai',
    parameters: contract(parameters, { open: true }),
    fields,
    produces: 'image',
    modelCategory: source.op,
  };
}

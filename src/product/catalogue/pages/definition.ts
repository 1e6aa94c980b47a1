import type { TProperties, TSchema } from '@sinclair/typebox';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import type { Plan } from '../../billing/plans.ts';
import { defaultModelFor, type Model, type ModelsFile } from '../../models/models.ts';
import { imageModelPrice, lowestCreditsPerItem } from '../../models/prices.ts';
import { type AiOp, type Op, type PixelOp, type RenderOp, TRANSFORM_ENDPOINT } from '../op.ts';
import type { OpDefinition, OpParameter, OpPricing } from '../schema.ts';

export const PLACEHOLDER_ASSET_ID = 'ast_000000000000000000000000';

/** An op as the catalogue endpoints show it: everything that an agent needs to choose it, fill it in and price it. */
export function opDefinitionOf(op: Op, plans: readonly Plan[], models: ModelsFile): OpDefinition {
  return {
    op: op.op,
    kind: op.kind,
    description: op.description,
    params: { ...parametersOf(op.fields), ...parametersOf(op.parameters.properties, modelOf(op, models)) },
    pricing: pricingOf(op, plans, models),
    produces: op.produces,
    requiresAssets: op.requiresAssets,
    requiresPrompt: op.requiresPrompt,
    ...kindFieldsOf(op, models),
  };
}

function kindFieldsOf(op: Op, models: ModelsFile): Partial<OpDefinition> {
  switch (op.kind) {
    case 'sync':
      return { endpoint: op.endpoint };
    case 'deterministic':
      return { jobType: op.jobType, example: jobBodyOf(op), ...syncFormOf(op) };
    case 'ai': {
      const model = modelOf(op, models);
      return {
        jobType: op.jobType,
        example: jobBodyOf(op),
        modelCategory: op.op,
        ...withoutAbsentFields({
          defaultModel: model?.id,
          maxInputEdge: op.requiresAssets ? model?.maxInputEdge : undefined,
          defaultPrompt: op.defaultPrompt,
          defaultSchema: op.defaultSchema,
        }),
      };
    }
  }
}

/** The synchronous form of the op; empty for an op that runs in jobs only. */
function syncFormOf(op: PixelOp | RenderOp): Partial<OpDefinition> {
  if (op.syncEndpoint === undefined) return {};
  const { syncEndpoint } = op;
  if (op.runs === 'pass') {
    const named = syncEndpoint === TRANSFORM_ENDPOINT ? { op: op.op } : {};
    return { syncEndpoint, syncExample: { ...named, ...op.example.parameters } };
  }
  return { syncEndpoint, syncParams: parametersOf(op.syncFields), syncExample: op.syncExample };
}

function jobBodyOf(op: Exclude<Op, { kind: 'sync' }>): Record<string, unknown> {
  return { op: op.op, ...(op.requiresAssets && { assetIds: [PLACEHOLDER_ASSET_ID] }), ...op.example };
}

function modelOf(op: Op, models: ModelsFile): Model | undefined {
  return op.kind === 'ai' ? defaultModelFor(models, op.op) : undefined;
}

/**
 * The parameters of an op as the API shows them.
 * @param model a model whose limits replace those of the op, for parameters that the model lists.
 */
function parametersOf(properties: TProperties, model?: Model): Record<string, OpParameter> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => {
      const ofModel = model?.parameters.find(({ key }) => key === name);
      return [name, parameterOf(schema, ofModel)];
    }),
  );
}

function parameterOf(schema: TSchema, ofModel: Partial<Model['parameters'][number]> = {}): OpParameter {
  const alternatives: TSchema[] = schema.anyOf ?? [schema];
  const constantsOf = (one: TSchema) => one.enum ?? (one.const === undefined ? [] : [one.const]);
  const words = ofModel.options ?? alternatives.flatMap(constantsOf);
  const min = ofModel.min ?? firstKeywordValue(alternatives, ['minimum', 'minLength', 'minItems']);
  const max = ofModel.max ?? firstKeywordValue(alternatives, ['maximum', 'maxLength', 'maxItems']);
  const pattern = words.length > 0 ? undefined : (ofModel.pattern ?? schema.pattern);
  return {
    type: [...new Set(alternatives.map((one) => one.type))].join(' or '),
    ...(words.length > 0 && { enum: words }),
    ...withoutAbsentFields({ min, max, pattern, default: schema.default }),
    description: schema.description ?? '',
  };
}

function firstKeywordValue(schemas: readonly TSchema[], keywords: readonly string[]): number | undefined {
  return schemas
    .flatMap((schema) => keywords.map((keyword) => schema[keyword]))
    .find((value) => value !== undefined);
}

const EXACT_PRICE_HINT =
  'Send the same body to POST /api/v1/jobs?dryRun=true: it answers with the credits and runs nothing.';

/** The price of the op, as data. */
function pricingOf(op: Op, plans: readonly Plan[], models: ModelsFile): OpPricing {
  switch (op.kind) {
    case 'sync':
      return { basis: 'free', summary: 'Free; it does not count against the processing allowance.' };
    case 'deterministic':
      return quotaPricing(plans);
    case 'ai':
      return itemPricing(op, models);
  }
}

function quotaPricing(plans: readonly Plan[]): OpPricing {
  const overage = plans.flatMap(({ id, overageCredits }) =>
    overageCredits === null ? [] : [[id, overageCredits]],
  );
  return {
    basis: 'process_quota',
    processLimit: Object.fromEntries(plans.map(({ id, processLimit }) => [id, processLimit])),
    overageCredits: Object.fromEntries(overage),
    exactPrice: EXACT_PRICE_HINT,
    summary:
      "Each item counts once against the plan's monthly allowance; past it, a run costs overageCredits.",
  };
}

function itemPricing(op: AiOp, models: ModelsFile): OpPricing {
  const model = defaultModelFor(models, op.op);
  const terms = {
    basis: 'per_item' as const,
    markup: models.markup,
    creditsPerUsd: models.creditsPerUsd,
    exactPrice: EXACT_PRICE_HINT,
  };
  if (model === undefined) {
    const summary = 'Priced per item by its model; no model is offered by default, so name one.';
    return { ...terms, summary };
  }
  const credits = lowestCreditsPerItem(models, model);
  const price = `${credits} ${credits === 1 ? 'credit' : 'credits'}`;
  const summary = `From ${price} per completed item on ${model.id}.`;
  return { ...terms, defaultModel: imageModelPrice(models, model), summary };
}

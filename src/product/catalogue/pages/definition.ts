import type { TProperties, TSchema } from '@sinclair/typebox';
import { present } from '../../../platform/values/present.ts';
import type { Plan } from '../../billing/plans.ts';
import { defaultModelFor, type Models } from '../../models/models.ts';
import { isPixelOp, type Op, type PixelOp, type RenderOp, TRANSFORM_ENDPOINT } from '../op.ts';
import type { OpDefinition, OpParameter } from '../schema.ts';
import { pricingOf } from './pricing.ts';

/** A placeholder for an asset of the caller. */
export const PLACEHOLDER_ASSET_ID = 'ast_000000000000000000000000';

/** An op as the catalogue endpoints show it: all that an agent needs to choose it, fill it and price it. */
export function definitionOf(op: Op, plans: readonly Plan[], models: Models): OpDefinition {
  return {
    op: op.op,
    kind: op.kind,
    description: op.description,
    params: { ...parametersOf(op.fields), ...parametersOf(op.parameters.properties) },
    pricing: pricingOf(op, plans, models),
    produces: op.produces,
    requiresAssets: op.requiresAssets,
    requiresPrompt: op.requiresPrompt,
    ...kindFieldsOf(op, models),
  };
}

function kindFieldsOf(op: Op, models: Models): Partial<OpDefinition> {
  switch (op.kind) {
    case 'sync':
      return { endpoint: op.endpoint };
    case 'deterministic':
      return { jobType: op.jobType, example: jobBodyOf(op), ...syncFormOf(op) };
    case 'ai': {
      const model = defaultModelFor(models, op.op);
      return {
        jobType: op.jobType,
        example: jobBodyOf(op),
        modelCategory: op.op,
        ...present({
          defaultModel: model?.id,
          maxInputEdge: op.requiresAssets ? model?.maxInputEdge : undefined,
          defaultPrompt: op.defaultPrompt,
          defaultSchema: op.defaultSchema,
        }),
      };
    }
  }
}

/** The synchronous call of the op; absent for an op that runs in jobs only. */
function syncFormOf(op: PixelOp | RenderOp): Partial<OpDefinition> {
  if (op.syncEndpoint === undefined) return {};
  const { syncEndpoint } = op;
  if (isPixelOp(op)) {
    const named = syncEndpoint === TRANSFORM_ENDPOINT ? { op: op.op } : {};
    return { syncEndpoint, syncExample: { ...named, ...op.example.parameters } };
  }
  return { syncEndpoint, syncParams: parametersOf(op.syncFields), syncExample: op.syncExample };
}

function jobBodyOf(op: Exclude<Op, { kind: 'sync' }>): Record<string, unknown> {
  return { op: op.op, ...(op.requiresAssets && { assetIds: [PLACEHOLDER_ASSET_ID] }), ...op.example };
}

function parametersOf(properties: TProperties): Record<string, OpParameter> {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, parameterOf(schema)]));
}

function parameterOf(schema: TSchema): OpParameter {
  const alternatives: TSchema[] = schema.anyOf ?? [schema];
  const words = alternatives.flatMap((one) => one.enum ?? (one.const === undefined ? [] : [one.const]));
  const min = firstOf(alternatives, ['minimum', 'minLength', 'minItems']);
  const max = firstOf(alternatives, ['maximum', 'maxLength', 'maxItems']);
  return {
    type: [...new Set(alternatives.map((one) => one.type))].join(' or '),
    ...(words.length > 0 && { enum: words }),
    ...present({ min, max, default: schema.default }),
    description: schema.description ?? '',
  };
}

function firstOf(schemas: readonly TSchema[], keywords: readonly string[]): number | undefined {
  return schemas
    .flatMap((schema) => keywords.map((keyword) => schema[keyword]))
    .find((value) => value !== undefined);
}

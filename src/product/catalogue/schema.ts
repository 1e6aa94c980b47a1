import { type Static, Type } from '@sinclair/typebox';
import { componentSchema, oneOfField, textField } from '../../platform/http/fields.ts';
import { ImageModelPrice } from '../models/schema.ts';

const NumberByPlan = Type.Record(Type.String(), Type.Integer());

export const OpPricing = componentSchema('OpPricing', {
  basis: Type.Union([Type.Literal('per_item'), Type.Literal('process_quota'), Type.Literal('free')]),
  defaultModel: Type.Optional(ImageModelPrice),
  markup: Type.Optional(Type.Number({ description: 'price = providerPrice x (1 + markup).' })),
  creditsPerUsd: Type.Optional(Type.Integer()),
  processLimit: Type.Optional(NumberByPlan),
  overageCredits: Type.Optional(NumberByPlan),
  exactPrice: Type.Optional(textField('How to learn the exact price of one request.')),
  summary: Type.String(),
});
export type OpPricing = Static<typeof OpPricing>;

export const OpParameter = componentSchema('OpParameter', {
  type: Type.String(),
  enum: Type.Optional(Type.Array(Type.Union([Type.String(), Type.Number()]))),
  min: Type.Optional(Type.Number({ description: 'Least value, or least length of text or a list.' })),
  max: Type.Optional(Type.Number({ description: 'Largest value, or largest length of text or a list.' })),
  pattern: Type.Optional(textField('Regular expression of the text.')),
  default: Type.Optional(Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
  description: Type.String(),
});
export type OpParameter = Static<typeof OpParameter>;

const AnyObject = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true });

export const OpDefinition = componentSchema('OpDefinition', {
  op: Type.String(),
  kind: Type.Union([Type.Literal('ai'), Type.Literal('deterministic'), Type.Literal('sync')]),
  description: Type.String(),
  params: Type.Record(Type.String(), OpParameter),
  pricing: OpPricing,
  produces: Type.Union([Type.Literal('image'), Type.Literal('json')]),
  requiresAssets: Type.Boolean(),
  requiresPrompt: Type.Boolean(),
  jobType: Type.Optional(textField('Absent for a sync op.')),
  example: Type.Optional(AnyObject),
  defaultModel: Type.Optional(Type.String()),
  modelCategory: Type.Optional(Type.String()),
  maxInputEdge: Type.Optional(
    Type.Integer({ description: 'Longest input edge in pixels for the default model.' }),
  ),
  typicalSeconds: Type.Optional(
    Type.Integer({
      description:
        'Median of the last items on the default model; absent while too few are known, which does not mean fast.',
    }),
  ),
  endpoint: Type.Optional(textField("A sync op's answering endpoint, below /api/v1.")),
  syncEndpoint: Type.Optional(textField('Runs the op while the caller waits; below /api/v1.')),
  syncParams: Type.Optional(
    Type.Record(Type.String(), OpParameter, {
      description: 'What syncEndpoint takes, if that differs from params.',
    }),
  ),
  syncExample: Type.Optional({
    ...AnyObject,
    description:
      'What syncEndpoint takes as it stands: the JSON body of a render, else query keys beside the bytes of an image.',
  }),
  defaultPrompt: Type.Optional(Type.String()),
  defaultSchema: Type.Optional(AnyObject),
});
export type OpDefinition = Static<typeof OpDefinition>;

const { op, kind, description } = OpDefinition.properties;
const OpName = Type.Object({ op, kind, description }, { title: 'OpName', additionalProperties: false });

/** A row of GET /ops: an op, or its short form for view=names. */
export const OpListRow = Type.Unsafe<OpDefinition | Static<typeof OpName>>({ oneOf: [OpDefinition, OpName] });

export const OpListQuery = Type.Object({
  view: Type.Optional(oneOfField(['names'], 'names: the name, kind and description of each op alone.')),
});
export type OpListQuery = Static<typeof OpListQuery>;

export const PriceList = componentSchema('PriceList', {
  models: Type.Array(ImageModelPrice),
  ops: Type.Array(Type.Object({ op: Type.String(), basis: Type.String(), summary: Type.String() })),
  creditsPerUsd: Type.Integer(),
  markup: Type.Number(),
});
export type PriceList = Static<typeof PriceList>;

export const AgentGuidelines = componentSchema('Guidelines', {
  version: textField('Changes exactly when the document does.'),
  updatedAt: Type.String({ format: 'date-time' }),
  document: textField('Markdown.'),
});
export type AgentGuidelines = Static<typeof AgentGuidelines>;

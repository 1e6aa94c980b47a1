import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { componentSchema } from '../../platform/http/fields.ts';

const sandbox = Type.Optional(
  Type.Boolean({
    description: 'True on a stand-in for tests, whose results are invented; absent elsewhere.',
  }),
);

const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

export const ModelData = componentSchema('ModelDTO', {
  id: Type.String({ description: 'What `model` names.' }),
  name: Type.String(),
  description: Type.String(),
  series: Type.String(),
  mode: Type.Union([Type.Literal('ai_image'), Type.Literal('analyze')]),
  categories: Type.Array(Type.String(), {
    description: "The model runs an op when this includes the op's modelCategory.",
  }),
  image_price_range: Type.String({ description: 'Price per image after markup, one figure or min - max.' }),
  provider_price: Type.String({ description: "The provider's list price per image, USD." }),
  provider_price_range: Type.Optional(Type.String()),
  credits_per_item: Type.Object(
    { min: Type.Integer(), max: Type.Integer() },
    {
      description:
        'Price of one item in credits. Where they differ, parameters decide: a dry run tells which.',
    },
  ),
  prompt_price: Type.Optional(Type.String({ description: 'USD per 1M input tokens.' })),
  completion_price: Type.Optional(Type.String({ description: 'USD per 1M output tokens.' })),
  context_length: Type.Optional(Type.Integer()),
  created: Type.Integer({ description: 'Unix timestamp.' }),
  image_required: nullable(Type.Boolean({ description: 'null when images are unsupported.' })),
  input_modalities: Type.Array(Type.String()),
  output_modalities: Type.Array(Type.String()),
  max_input_edge: Type.Optional(
    Type.Integer({ description: 'Longest edge handed to the model, in pixels.' }),
  ),
  max_input_images: nullable(
    Type.Integer({ description: 'null: no image input; 1: single; above 1: several.' }),
  ),
  parameters: Type.Array(Type.Unknown(), {
    description:
      '`{key, label, type, defaultValue}` with options, min and max, or pattern: other values are refused. Parameters that are not listed go to the model as sent.',
  }),
  support_structured_output: Type.Boolean(),
  supported_parameters: Type.Array(Type.String()),
  sandbox,
});
export type ModelData = Static<typeof ModelData>;

export const ImageModelPrice = componentSchema('ImageModelPrice', {
  id: Type.String(),
  name: Type.String(),
  description: Type.String(),
  series: Type.String(),
  categories: Type.Array(Type.String()),
  priceFrom: Type.String({ description: 'USD per image after markup.' }),
  priceRange: Type.String({ description: 'For people.' }),
  providerPrice: Type.String({ description: 'USD per image before markup.' }),
  providerPriceRange: Type.Optional(Type.String({ description: 'Absent when one number covers it.' })),
  sandbox,
});
export type ImageModelPrice = Static<typeof ImageModelPrice>;

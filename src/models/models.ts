import { type Static, Type } from '@sinclair/typebox';
import { checkedData } from '../../config/data.ts';
import data from '../../config/models.json' with { type: 'json' };
import { invalidParam } from '../http/errors.ts';

const Usd = Type.String({ pattern: '^\\d{1,5}(\\.\\d{1,6})?$', description: 'US dollars as a decimal.' });

/** One choice that a model offers beyond its op's own parameters. */
const ModelParameter = Type.Object(
  {
    key: Type.String({ minLength: 1 }),
    label: Type.String({ minLength: 1 }),
    type: Type.String({ enum: ['string', 'integer', 'number', 'boolean'] }),
    defaultValue: Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]),
    options: Type.Optional(Type.Array(Type.Union([Type.String(), Type.Number()]), { minItems: 1 })),
    min: Type.Optional(Type.Number()),
    max: Type.Optional(Type.Number()),
  },
  { additionalProperties: false },
);

const Model = Type.Object(
  {
    id: Type.String({ minLength: 1 }),
    name: Type.String({ minLength: 1 }),
    description: Type.String({ minLength: 1 }),
    series: Type.String({ minLength: 1 }),
    mode: Type.Union([Type.Literal('ai_image'), Type.Literal('analyze')]),
    categories: Type.Array(Type.String(), { minItems: 1 }),
    providerPrice: Type.Object(
      { min: Usd, max: Usd },
      {
        additionalProperties: false,
        description: 'List price per image before markup; a span where a parameter decides.',
      },
    ),
    created: Type.Integer({ description: 'Unix timestamp.' }),
    imageRequired: Type.Union([Type.Boolean(), Type.Null()], { description: 'null when it takes no image.' }),
    inputModalities: Type.Array(Type.String(), { minItems: 1 }),
    outputModalities: Type.Array(Type.String(), { minItems: 1 }),
    maxInputEdge: Type.Optional(Type.Integer({ minimum: 1, description: 'Pixels.' })),
    maxInputImages: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]),
    parameters: Type.Array(ModelParameter),
    promptPrice: Type.Optional(Usd),
    completionPrice: Type.Optional(Usd),
    contextLength: Type.Optional(Type.Integer({ minimum: 1 })),
    structuredOutput: Type.Boolean(),
  },
  { additionalProperties: false },
);
export type Model = Static<typeof Model>;
export type ModelMode = Model['mode'];

const Book = Type.Object(
  {
    creditsPerUsd: Type.Integer({ minimum: 1 }),
    markup: Type.Number({ minimum: 0, description: 'Share added to the provider price.' }),
    models: Type.Array(Model, { minItems: 1 }),
  },
  { additionalProperties: false },
);

/** The models that AI ops can run on, and how their prices become credits. */
export type Models = Static<typeof Book>;

/**
 * Reads models.json.
 * @throws Error that names every violation.
 */
export function readModels(book: unknown = data): Models {
  return checkedData('config/models.json', Book, book);
}

/** The models of a mode, in the order of the file. */
export function modelsOf({ models }: Models, mode: ModelMode): Model[] {
  return models.filter((model) => model.mode === mode);
}

/** The model of this id, or undefined. */
export function findModel({ models }: Models, id: string): Model | undefined {
  return models.find((model) => model.id === id);
}

/** The models that run ops of this category. */
export function modelsFor({ models }: Models, category: string): Model[] {
  return models.filter((model) => model.categories.includes(category));
}

/**
 * The model that a job or a step names.
 * @param category what the op asks of a model.
 * @param param where the name was given, such as `model` or `steps[1].model`.
 * @throws ApiError invalid_param with the fitting models in details.allowed.
 */
export function modelRunning(models: Models, id: string, category: string, param: string): Model {
  const fitting = modelsFor(models, category);
  const model = fitting.find((candidate) => candidate.id === id);
  if (model !== undefined) return model;
  const allowed = fitting.map((candidate) => candidate.id);
  const message = `${param} is ${JSON.stringify(id)}, but only ${allowed.join(', ')} can ${category.replaceAll('_', ' ')}: name one of them or leave it out.`;
  throw invalidParam(param, message, { received: id, allowed });
}

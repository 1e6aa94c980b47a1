import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import modelsData from '../../../config/models.json' with { type: 'json' };
import { checkDataFile, exactObjectSchema } from '../../platform/checked-data.ts';
import type { SentField } from '../../platform/http/errors/errors.ts';
import { suggestWord } from '../../platform/http/errors/violations.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';

/** The kind of work that a model does. For each kind there is an AI op of the same name. */
export type ModelCategory = 'generate' | 'edit' | 'upscale' | 'remove_background' | 'expand' | 'analyze';

/** The settings that bring real providers, for the error of an op without a model. */
const PROVIDER_SETTINGS_TEXT = 'OPENAI_API_KEY, GEMINI_API_KEY or REPLICATE_API_TOKEN, or by their base URLs';

const PROVIDER_NAMES = ['openai', 'gemini', 'replicate', 'sandbox', 'local'] as const;

const UsdAmount = Type.String({
  pattern: '^\\d{1,5}(\\.\\d{1,8})?$',
  description: 'US dollars as a decimal.',
});

/** A parameter that a model has besides those of its op. */
const ModelParameter = exactObjectSchema({
  key: Type.String({ minLength: 1 }),
  label: Type.String({ minLength: 1 }),
  type: Type.String({ enum: ['string', 'integer', 'number', 'boolean'] }),
  defaultValue: Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]),
  options: Type.Optional(Type.Array(Type.Union([Type.String(), Type.Number()]), { minItems: 1 })),
  min: Type.Optional(Type.Number()),
  max: Type.Optional(Type.Number()),
  pattern: Type.Optional(Type.String({ description: 'Regular expression of the whole text.' })),
  description: Type.Optional(Type.String({ description: 'A sentence that a refusal ends with.' })),
});

/** The provider's list price per item in dollars, with its source and its date. The markup is not included. */
const Price = exactObjectSchema({
  by: Type.Array(Type.String(), { description: 'The parameters that decide; none where one price is all.' }),
  rows: Type.Array(
    exactObjectSchema({
      when: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()])),
      usd: UsdAmount,
    }),
    { minItems: 1 },
  ),
  source: Type.String({ minLength: 1, description: "The provider's page that lists it." }),
  asOf: Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description: 'When it was listed so.' }),
});

const Model = exactObjectSchema({
  id: Type.String({ minLength: 1 }),
  name: Type.String({ minLength: 1 }),
  description: Type.String({ minLength: 1 }),
  series: Type.String({ minLength: 1 }),
  provider: Type.Unsafe<(typeof PROVIDER_NAMES)[number]>({ type: 'string', enum: PROVIDER_NAMES }),
  providerModel: Type.String({ minLength: 1, description: "The model's name at its provider." }),
  fields: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      description:
        'What this model calls prompt, image and images, if its provider has no common name for them.',
    }),
  ),
  mode: Type.Union([Type.Literal('ai_image'), Type.Literal('analyze')]),
  categories: Type.Array(Type.String(), { minItems: 1 }),
  price: Price,
  created: Type.Integer({ description: 'Unix timestamp of its release, or of its first listing here.' }),
  imageRequired: Type.Union([Type.Boolean(), Type.Null()], { description: 'null when it takes no image.' }),
  inputModalities: Type.Array(Type.String(), { minItems: 1 }),
  outputModalities: Type.Array(Type.String(), { minItems: 1 }),
  maxInputEdge: Type.Optional(Type.Integer({ minimum: 1, description: 'Pixels.' })),
  maxInputImages: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]),
  parameters: Type.Array(ModelParameter),
  promptPrice: Type.Optional(UsdAmount),
  completionPrice: Type.Optional(UsdAmount),
  contextLength: Type.Optional(Type.Integer({ minimum: 1 })),
  structuredOutput: Type.Boolean(),
  answerSchema: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      description: 'JSON Schema of its answers, if it has its own and takes none.',
    }),
  ),
});
export type Model = Static<typeof Model>;
export type ModelMode = Model['mode'];
export type ProviderName = Model['provider'];

const ModelsFileSchema = exactObjectSchema({
  creditsPerUsd: Type.Integer({ minimum: 1 }),
  markup: Type.Number({ minimum: 0, description: 'Share added to the provider price.' }),
  models: Type.Array(Model, { minItems: 1 }),
});

export type ModelsFile = Static<typeof ModelsFileSchema>;

/**
 * Reads the models of config/models.json.
 * @throws Error that lists every violation, including repeated ids.
 */
export function readModels(file: unknown = modelsData): ModelsFile {
  const checked = checkDataFile('config/models.json', ModelsFileSchema, file);
  const ids = checked.models.map(({ id }) => id);
  const repeated = ids.find((id, index) => ids.indexOf(id) < index);
  if (repeated !== undefined) throw new Error(`config/models.json names the model ${repeated} twice.`);
  return checked;
}

/**
 * The models whose provider is offered. The other models are not listed, and a call that names one of them is refused.
 */
export function onlyOfferedModels(
  all: ModelsFile,
  isOffered: (provider: ProviderName) => boolean,
): ModelsFile {
  return { ...all, models: all.models.filter(({ provider }) => isOffered(provider)) };
}

/** The models of a mode, in the order of the file. */
export function modelsOfMode({ models }: ModelsFile, mode: ModelMode): Model[] {
  return models.filter((model) => model.mode === mode);
}

export function findModel({ models }: ModelsFile, id: string): Model | undefined {
  return models.find((model) => model.id === id);
}

const SANDBOX_MODEL_IDS = new Set(
  modelsData.models.flatMap(({ id, provider }) => (provider === 'sandbox' ? [id] : [])),
);

/**
 * Whether a model belongs to the sandbox, whose results are invented. This includes sandbox models that are no longer
 * offered.
 */
export function isSandboxModel(id: string): boolean {
  return SANDBOX_MODEL_IDS.has(id);
}

export function modelsOfCategory({ models }: ModelsFile, category: string): Model[] {
  return models.filter((model) => model.categories.includes(category));
}

/**
 * The default model of a category: the first one in the file. Sandbox models come last in the file. Local models are
 * left out, because each reads only one kind of content.
 */
export function defaultModelFor(models: ModelsFile, category: string): Model | undefined {
  return modelsOfCategory(models, category).find(({ provider }) => provider !== 'local');
}

/**
 * Chooses the model of a job or a step.
 * @param named the name that was sent. Absent: the op's default model is chosen.
 * @param category the category of models that the op needs.
 * @param field the field that contains the name, such as `model` or `steps[1].model`.
 * @throws ApiError invalid_param with the names of suitable models in details.allowed.
 */
export function chooseModel(
  models: ModelsFile,
  named: string | undefined,
  category: string,
  field: SentField,
): Model {
  const fitting = modelsOfCategory(models, category);
  const model =
    named === undefined ? defaultModelFor(models, category) : fitting.find(({ id }) => id === named);
  if (model !== undefined) return model;
  const allowed = fitting.map(({ id }) => id);
  const verb = category.replaceAll('_', ' ');
  const problem =
    named === undefined
      ? `${field.name} is missing, and no model is offered by default to ${verb}`
      : `${field.name} is ${JSON.stringify(named)}, which is not offered to ${verb}`;
  const fix =
    allowed.length === 0
      ? `the operator of this service has configured no provider for it, by ${PROVIDER_SETTINGS_TEXT}`
      : `use one of ${allowed.join(', ')}`;
  const { hint, corrections, suggest = allowed } = suggestWord(named ?? '', allowed, field.path);
  const details = {
    ...withoutAbsentFields({ received: named }),
    allowed,
    ...(corrections.length === 0 && { suggest }),
  };
  throw field.refuse(`${problem}: ${fix}.${hint}`, details, corrections);
}

const parameterSchemas = new WeakMap<Model, TObject>();

/**
 * The schema of the parameters that a model lists. Other parameters are not checked, and are sent to the model
 * unchanged. Each model has only one schema object, because its compiled validator is cached by this object.
 */
export function modelParametersSchema(model: Model): TObject {
  const known = parameterSchemas.get(model);
  if (known !== undefined) return known;
  const properties = model.parameters.map((parameter) => [
    parameter.key,
    Type.Optional(parameterSchemaOf(parameter)),
  ]);
  const made = Type.Object(Object.fromEntries(properties), { additionalProperties: true });
  parameterSchemas.set(model, made);
  return made;
}

function parameterSchemaOf(parameter: Static<typeof ModelParameter>): TSchema {
  const { type, options, min, max, pattern, defaultValue } = parameter;
  return Type.Unsafe({
    type,
    ...withoutAbsentFields({ enum: options, minimum: min, maximum: max, pattern }),
    ...(pattern !== undefined && { examples: [defaultValue] }),
  });
}

import {
  type ObjectOptions,
  type Static,
  type TObject,
  type TProperties,
  type TSchema,
  Type,
} from '@sinclair/typebox';
import { anyObjectField, dryRunQueryFields, textField } from '../../platform/http/fields.ts';
import { distinctValues } from '../../platform/values/json.ts';
import { OPS, WITHIN_PARAMETERS } from '../catalogue/index.ts';
import { type Op, type PixelOp, TRANSFORM_ENDPOINT } from '../catalogue/op.ts';
import { PASS_PARAMETERS } from '../catalogue/parameters.ts';
import { PresetStep } from '../catalogue/plan/step.ts';

/** The ops that this endpoint runs. */
export const TRANSFORM_OPS: readonly PixelOp[] = Object.values<Op>(OPS)
  .filter((op) => op.runs === 'pass')
  .filter(({ syncEndpoint }) => syncEndpoint === TRANSFORM_ENDPOINT);

const MAX_TRANSFORM_STEPS = 20;

export const RequestedTransformSteps = Type.Array(PresetStep, {
  minItems: 1,
  maxItems: MAX_TRANSFORM_STEPS,
  description:
    'Deterministic steps, run in order as one pass: one decode, one encode, one run. Instead of op, preset and parameters.',
});

const MAX_OUTPUTS = 20;

/** One output of a call that makes several. */
export const RequestedOutput = Type.Object(
  {
    name: Type.String({
      pattern: '^[a-z0-9][a-z0-9_-]{0,39}$',
      description: 'Unique in the call: the name of its part, or of its file.',
    }),
    op: Type.Optional(textField('An op, with its parameters; or steps, or preset.')),
    parameters: Type.Optional(anyObjectField('The parameters of the op.')),
    steps: Type.Optional(RequestedTransformSteps),
    preset: Type.Optional(Type.String({ minLength: 1, description: 'Slug, id or slug@version.' })),
  },
  {
    title: 'TransformOutput',
    documented: { oneOf: [{ required: ['op'] }, { required: ['steps'] }, { required: ['preset'] }] },
    additionalProperties: false,
    elsewhere: 'what the op takes goes into parameters of the output',
    within: WITHIN_PARAMETERS,
    examples: [{ name: 'small', op: 'resize', parameters: { width: 320 } }],
  },
);
export type RequestedOutput = Static<typeof RequestedOutput>;

/** The outputs of a call, as sent. */
export const RequestedOutputs = Type.Array(RequestedOutput, {
  minItems: 2,
  maxItems: MAX_OUTPUTS,
  description:
    'Several results of one upload, one run each. Steps beside them run first, once for all. Each is the same file as from a call of its own. Instead of op, preset and parameters.',
  examples: [
    [
      { name: 'small', op: 'resize', parameters: { width: 320, format: 'webp' } },
      { name: 'large', op: 'resize', parameters: { width: 1280, format: 'webp' } },
    ],
  ],
});

/** The op that a form of the documentation contains at first. It needs no parameters, so the call is valid at once. */
const EXAMPLE_OP = 'thumbnail';

interface DeclaredParameter {
  op: string;
  schema: TSchema;
}

/**
 * The schema of a transform's query, for the documentation. If several ops have a parameter of the same name, the
 * schema has the widest bounds among them. What a call may send is checked by the contract of its op; the schema of the
 * JSON body documents each op exactly.
 */
export function transformQuerySchema(): TObject {
  const declared = TRANSFORM_OPS.flatMap(({ op, parameters }) =>
    Object.entries(parameters.properties).map(([name, schema]) => ({ name, op, schema })),
  );
  const byName = Map.groupBy(declared, ({ name }) => name);
  const parameters = [...byName].map(([name, uses]) => [name, Type.Optional(widestSchemaOf(uses))]);
  return Type.Object({
    op: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        enum: TRANSFORM_OPS.map(({ op }) => op),
        examples: [EXAMPLE_OP],
        description: 'The op to run; exclusive with preset and steps.',
      }),
    ),
    preset: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'A saved preset: slug, id or slug@version. No other parameter may accompany it.',
      }),
    ),
    response: Type.Optional(textField('`url` answers a signed link of 5 minutes instead of the bytes.')),
    ...dryRunQueryFields('Checks and prices the call, and says what it would make; nothing runs.'),
    ...Object.fromEntries(parameters),
  });
}

function widestSchemaOf(uses: readonly DeclaredParameter[]): TSchema {
  const description = descriptionOf(uses);
  const schemas = distinctValues(
    uses.map(({ schema }) => querySchemaOf(withoutDescriptionAndDefault(schema))),
  );
  const [only] = schemas;
  if (only !== undefined && schemas.length === 1) return Type.Unsafe({ ...only, description });
  if (schemas.every(({ type }) => type === 'integer' || type === 'number')) {
    return Type.Unsafe({
      type: schemas.some(({ type }) => type === 'number') ? 'number' : 'integer',
      minimum: Math.min(...schemas.map(({ minimum }) => minimum)),
      maximum: Math.max(...schemas.map(({ maximum }) => maximum)),
      description,
    });
  }
  return Type.Unsafe({ anyOf: schemas, description });
}

/**
 * The description of a parameter that several ops have: a single one if it means the same in most of them, or else one
 * for each meaning.
 */
function descriptionOf(uses: readonly DeclaredParameter[]): string {
  const meanings = Map.groupBy(uses, ({ schema }) => String(schema.description ?? ''));
  const sentences = Array.from(meanings, ([meaning, same]) => {
    const isShared = same.length > TRANSFORM_OPS.length / 2;
    return isShared ? meaning : `${same.map(({ op }) => op).join(', ')}: ${meaning}`;
  });
  return sentences.join(' ');
}

/**
 * The schema of a parameter in the query. A list becomes JSON text. Examples and media types are removed: documentation
 * pages would otherwise send the example with ops that refuse it, and show a file input because of the media type.
 */
function querySchemaOf({ examples: _, anyOf, ...schema }: TSchema): TSchema {
  if (anyOf !== undefined) return { ...schema, anyOf: anyOf.map(querySchemaOf) } as unknown as TSchema;
  return schema.type === 'array' ? Type.String() : (schema as TSchema);
}

/** A schema without its description and default. They may differ between ops. */
function withoutDescriptionAndDefault(schema: TSchema): TSchema {
  const { description, default: fallback, ...rest } = JSON.parse(JSON.stringify(schema));
  return rest;
}

const IMAGE_REFERENCE_PROPERTIES = {
  assetId: Type.Optional(
    Type.String({ minLength: 1, description: 'One of the assets of the account; give this or url.' }),
  ),
  url: Type.Optional(
    Type.String({
      format: 'uri',
      pattern: '^[hH][tT][tT][pP][sS]?://',
      description: 'http or https, public, without redirects; give this or assetId.',
    }),
  ),
};

/** Requires exactly one of the two fields. */
const EXACTLY_ONE_IMAGE = { oneOf: [{ required: ['assetId'] }, { required: ['url'] }] };

/** An id that no asset can have. */
const EXAMPLE_ASSET_ID = 'ast_000000000000000000000000';

/** A reference to an image in JSON: an asset of the account, or a public URL. */
export const ImageReferenceBody = Type.Object(IMAGE_REFERENCE_PROPERTIES, {
  title: 'ImageReference',
  examples: [{ assetId: EXAMPLE_ASSET_ID }],
  additionalProperties: false,
  ...EXACTLY_ONE_IMAGE,
});

/** References to two images in JSON. */
export const CompareBody = Type.Object(
  {
    ...IMAGE_REFERENCE_PROPERTIES,
    otherAssetId: Type.Optional(
      Type.String({ minLength: 1, description: 'The second image, one of the assets; or otherUrl.' }),
    ),
    otherUrl: Type.Optional(
      Type.String({ format: 'uri', pattern: '^[hH][tT][tT][pP][sS]?://', description: 'Or otherAssetId.' }),
    ),
  },
  {
    title: 'CompareReference',
    examples: [{ assetId: EXAMPLE_ASSET_ID, otherAssetId: 'ast_111111111111111111111111' }],
    additionalProperties: false,
    allOf: [EXACTLY_ONE_IMAGE, { oneOf: [{ required: ['otherAssetId'] }, { required: ['otherUrl'] }] }],
  },
);

/**
 * The JSON body of a transform. It contains the reference to the image, and as work an op with its parameters, a list
 * of steps, several outputs, or a preset. Keys of the query take precedence.
 */
export function transformBodySchema(): TSchema {
  const ofOps = TRANSFORM_OPS.map(({ op, parameters, example }) => {
    const { required = [] } = parameters;
    const sent =
      required.length > 0 ? withSharedTitles(parameters) : Type.Optional(withSharedTitles(parameters));
    const examples = [exampleBodyOf(op, example)];
    return transformReferenceSchema(op, { op: Type.Literal(op), parameters: sent }, { examples });
  });
  const preset = Type.String({ minLength: 1, description: 'Slug, id or slug@version.' });
  const ofPreset = transformReferenceSchema('preset', { preset });
  const ofSteps = transformReferenceSchema('steps', { steps: RequestedTransformSteps });
  const fields = { outputs: RequestedOutputs, steps: Type.Optional(RequestedTransformSteps) };
  const ofOutputs = transformReferenceSchema('outputs', fields);
  const first = TRANSFORM_OPS.filter(({ op }) => op === EXAMPLE_OP);
  return Type.Unsafe({
    title: 'TransformRequest',
    oneOf: [...ofOps, ofSteps, ofOutputs, ofPreset, ImageReferenceBody],
    examples: first.map(({ op, example }) => exampleBodyOf(op, example)),
  });
}

/** One alternative of a transform's body: the reference to an image, and one kind of work. */
function transformReferenceSchema(name: string, work: TProperties, options: ObjectOptions = {}): TObject {
  const fixed = { title: `Transform_${name}`, additionalProperties: false, ...EXACTLY_ONE_IMAGE };
  return Type.Object({ ...IMAGE_REFERENCE_PROPERTIES, ...work }, { ...fixed, ...options });
}

function exampleBodyOf(op: string, example: object): object {
  return { assetId: EXAMPLE_ASSET_ID, op, ...example };
}

/**
 * Parameters in which shared ones have a title, so that the documentation describes each shared parameter only once.
 */
function withSharedTitles(parameters: TObject): TObject {
  const shared: Record<string, TSchema> = PASS_PARAMETERS;
  const properties = Object.entries(parameters.properties).map(([name, schema]) => [
    name,
    schema === shared[name] ? { ...schema, title: `Pass_${name}` } : schema,
  ]);
  return { ...parameters, properties: Object.fromEntries(properties) };
}

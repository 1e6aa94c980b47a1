import { type TObject, type TSchema, Type } from '@sinclair/typebox';
import { OPS } from '../catalogue/index.ts';
import { isPixelOp, type Op, type PixelOp } from '../catalogue/op.ts';
import { PASS_PARAMETERS } from '../catalogue/pass-parameters.ts';

/** Ops that run here while the caller waits. */
export const TRANSFORM_OPS: readonly PixelOp[] = Object.values<Op>(OPS)
  .filter(isPixelOp)
  .filter(({ syncEndpoint }) => syncEndpoint !== undefined);

/** The op that an empty form offers: it needs no parameter, so that the call is good as it stands. */
const TRIED_FIRST = 'thumbnail';

/** What a parameter is for each op that has it. */
interface Declared {
  op: string;
  schema: TSchema;
}

/**
 * The query of a transform as it is described: a parameter that several ops have is described as wide as the widest of
 * them. What an op takes is checked by its own contract and said by the JSON form of the call.
 */
export function transformQuery(): TObject {
  const declared = new Map<string, Declared[]>();
  for (const { op, parameters } of TRANSFORM_OPS) {
    for (const [name, schema] of Object.entries(parameters.properties)) {
      declared.set(name, [...(declared.get(name) ?? []), { op, schema }]);
    }
  }
  const parameters = [...declared].map(([name, uses]) => [name, Type.Optional(widest(uses))]);
  return Type.Object({
    op: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        enum: TRANSFORM_OPS.map(({ op }) => op),
        examples: [TRIED_FIRST],
        description: 'The op to run; exclusive with preset.',
      }),
    ),
    preset: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'A saved preset: slug, id or slug@version. No other parameter may accompany it.',
      }),
    ),
    response: Type.Optional(
      Type.String({ description: '`url` answers a signed link of 5 minutes instead of the bytes.' }),
    ),
    ...Object.fromEntries(parameters),
  });
}

function widest(uses: readonly Declared[]): TSchema {
  const description = descriptionOf(uses);
  const schemas = distinct(uses.map(({ schema }) => inQuery(plain(schema))));
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

/** One sentence where all ops mean the same, else one for each meaning. */
function descriptionOf(uses: readonly Declared[]): string {
  const meanings = new Map<string, string[]>();
  for (const { op, schema } of uses) {
    const said = String(schema.description ?? '');
    meanings.set(said, [...(meanings.get(said) ?? []), op]);
  }
  const isShared = (ops: string[]) => ops.length > TRANSFORM_OPS.length / 2;
  return [...meanings].map(([said, ops]) => (isShared(ops) ? said : `${ops.join(', ')}: ${said}`)).join(' ');
}

/**
 * A list is sent as JSON text. No example and no media type: pages that make calls of a document fill the first in beside
 * any other op, which refuses it, and ask for a file where they read the second.
 */
function inQuery({ examples: _beside, ...schema }: TSchema): TSchema {
  return schema.type === 'array' ? Type.String() : (schema as TSchema);
}

/** A schema without the words that differ from op to op. */
function plain(schema: TSchema): TSchema {
  const { description, default: fallback, ...rest } = JSON.parse(JSON.stringify(schema));
  return rest;
}

function distinct(schemas: readonly TSchema[]): TSchema[] {
  return [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
}

const IMAGE = {
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

/** One of the two, and not both. */
const ONE_IMAGE = { oneOf: [{ required: ['assetId'] }, { required: ['url'] }] };

/** An id that nobody has. */
const NO_ASSET = 'ast_000000000000000000000000';

/** Where an image is, in JSON: one of the account's own assets or a public address. */
export const ImageReference = Type.Object(IMAGE, {
  title: 'ImageReference',
  examples: [{ assetId: NO_ASSET }],
  additionalProperties: false,
  ...ONE_IMAGE,
});

/** Where two images are, in JSON. */
export const CompareReference = Type.Object(
  {
    ...IMAGE,
    otherAssetId: Type.Optional(
      Type.String({ minLength: 1, description: 'The second image, one of the assets; or otherUrl.' }),
    ),
    otherUrl: Type.Optional(
      Type.String({ format: 'uri', pattern: '^[hH][tT][tT][pP][sS]?://', description: 'Or otherAssetId.' }),
    ),
  },
  {
    title: 'CompareReference',
    examples: [{ assetId: NO_ASSET, otherAssetId: 'ast_111111111111111111111111' }],
    additionalProperties: false,
    allOf: [ONE_IMAGE, { oneOf: [{ required: ['otherAssetId'] }, { required: ['otherUrl'] }] }],
  },
);

/**
 * The JSON form of a transform: where the image is, and the op with its own parameters, or a preset. A query key wins over
 * what stands here.
 */
export function transformReference(): TSchema {
  const ofOps = TRANSFORM_OPS.map(({ op, parameters, example }) =>
    Type.Object(
      {
        ...IMAGE,
        op: Type.Literal(op),
        parameters: isNeeded(parameters) ? titled(parameters) : Type.Optional(titled(parameters)),
      },
      {
        title: `Transform_${op}`,
        additionalProperties: false,
        ...ONE_IMAGE,
        examples: [exampleOf(op, example)],
      },
    ),
  );
  const ofPreset = Type.Object(
    { ...IMAGE, preset: Type.String({ minLength: 1, description: 'Slug, id or slug@version.' }) },
    { title: 'Transform_preset', additionalProperties: false, ...ONE_IMAGE },
  );
  const first = TRANSFORM_OPS.filter(({ op }) => op === TRIED_FIRST);
  return Type.Unsafe({
    title: 'TransformRequest',
    oneOf: [...ofOps, ofPreset, ImageReference],
    examples: first.map(({ op, example }) => exampleOf(op, example)),
  });
}

function exampleOf(op: string, example: object): object {
  return { assetId: NO_ASSET, op, ...example };
}

/** The parameters that ops share are described once. */
function titled(parameters: TObject): TObject {
  const shared: Record<string, TSchema> = PASS_PARAMETERS;
  const properties = Object.entries(parameters.properties).map(([name, schema]) => [
    name,
    schema === shared[name] ? { ...schema, title: `Pass_${name}` } : schema,
  ]);
  return { ...parameters, properties: Object.fromEntries(properties) };
}

function isNeeded({ required = [] }: TObject): boolean {
  return required.length > 0;
}

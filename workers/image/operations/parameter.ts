import type {
  NumberOptions,
  Static,
  TArray,
  TBoolean,
  TInteger,
  TNumber,
  TObject,
  TOptional,
  TProperties,
  TSchema,
  TString,
  TUnion,
  TUnsafe,
} from '@sinclair/typebox';
import { type NamedPlace, PLACE_NAMES } from '../pixels/geometry.ts';
import type { Gravity } from '../sizing.ts';
import { Type } from './schema.ts';

const MAX_MARGIN_PX = 4096;

/**
 * The default of a parameter, if it has one. It is part of the schema's type, so that the type tells which arguments
 * may be left out.
 */
type DefaultOption<T> = { readonly default: T } | NoDefaultOption;
type NoDefaultOption = Readonly<Record<never, never>>;

/** Arguments with their defaults filled in, as an operation or op receives them. */
export type FilledArguments<P extends TProperties> = Readonly<Static<TObject<P>>>;

/** Arguments as sent. Those that are optional or have a default may be left out. */
export type RequestedArguments<P extends TProperties> = {
  readonly [K in Exclude<keyof P, OptionalKeys<P>>]: Static<P[K]>;
} & { readonly [K in OptionalKeys<P>]?: Static<P[K]> | undefined };

type OptionalKeys<P extends TProperties> = {
  [K in keyof P]: P[K] extends TOptional<TSchema> | { readonly default: unknown } ? K : never;
}[keyof P];

/**
 * The schema of the arguments. The schema allows no undeclared arguments, and arguments with a default may be left out.
 */
export function argumentsSchema(properties: TProperties, options: { open?: boolean } = {}): TObject {
  const wire = Object.entries(properties).map(([name, schema]): [string, TSchema] => [
    name,
    'default' in schema ? Type.Optional(schema) : schema,
  ]);
  return Type.Object(Object.fromEntries(wire), { additionalProperties: options.open ?? false });
}

/** Fills in the defaults of arguments that were left out. */
export function createDefaultsFiller<P extends TProperties>(
  properties: P,
): (sent: Readonly<Record<string, unknown>>) => FilledArguments<P> {
  const withDefault = Object.entries(properties).filter(([, schema]) => 'default' in schema);
  const defaults = Object.fromEntries(withDefault.map(([name, schema]) => [name, schema.default]));
  return (sent) => ({ ...defaults, ...sent }) as FilledArguments<P>;
}

export const integerParameter = boundedParameter(Type.Integer);
export const numberParameter = boundedParameter(Type.Number);

function boundedParameter<S extends TNumber | TInteger>(make: (options: NumberOptions) => S) {
  return <const D extends DefaultOption<number> = NoDefaultOption>(
    minimum: number,
    maximum: number,
    description: string,
    options?: D,
  ) => make({ minimum, maximum, description, ...options }) as S & D;
}

export function numberListParameter(
  minItems: number,
  maxItems: number,
  description: string,
): TArray<TNumber> {
  return Type.Array(Type.Number({ minimum: -1e6, maximum: 1e6 }), { minItems, maxItems, description });
}

export function flagParameter<const D extends DefaultOption<boolean> = NoDefaultOption>(
  description: string,
  options?: D,
): TBoolean & D {
  return Type.Boolean({ description, ...options }) as TBoolean & D;
}

/** A parameter whose value is one of a fixed set of words. */
export function choiceParameter<
  const T extends string,
  const D extends DefaultOption<NoInfer<T>> = NoDefaultOption,
>(values: readonly T[], description: string, options?: D): TUnsafe<T> & D {
  return Type.Unsafe<T>({ type: 'string', enum: [...values], description, ...options }) as TUnsafe<T> & D;
}

/** A parameter whose value is a text of a bounded length, in characters. */
export function textParameter<const D extends DefaultOption<string> = NoDefaultOption>(
  minLength: number,
  maxLength: number,
  description: string,
  options?: D,
): TString & D {
  return Type.String({ minLength, maxLength, description, ...options }) as TString & D;
}

/** A CSS colour; the schema validator implements the format `css-color`. */
export function colourParameter<const D extends DefaultOption<string> = NoDefaultOption>(
  description: string,
  options?: D,
): TString & D {
  const schema = { format: 'css-color', minLength: 3, maxLength: 64, description, ...options };
  return Type.String(schema) as TString & D;
}

export function assetIdParameter(description: string): TString {
  return textParameter(1, 64, description);
}

export const optionalParameter = Type.Optional;

export function positionParameter<const D extends DefaultOption<NamedPlace> = NoDefaultOption>(
  description: string,
  options?: D,
): TUnsafe<NamedPlace> & D {
  return choiceParameter(PLACE_NAMES, description, options);
}

/**
 * The distance of a placed text or picture from the edges, in pixels or as a share of the shorter side. See `marginPx`.
 */
export function marginParameter<const D extends { readonly default: number }>(
  description: string,
  options: D,
): TUnion<[TInteger, TString]> & D {
  const schema = Type.Union(
    [
      Type.Integer({ minimum: 0, maximum: MAX_MARGIN_PX }),
      Type.String({ pattern: '^(100|[1-9]?[0-9](\\.[0-9]+)?)%$', examples: ['5%'] }),
    ],
    { description, ...options },
  );
  return schema as TUnion<[TInteger, TString]> & D;
}

/** The radius of round corners, in pixels or as a share of width and height. See `cornerRadius`. */
export function radiusParameter<const D extends DefaultOption<number> = NoDefaultOption>(
  description: string,
  options?: D,
): TUnion<[TInteger, TString]> & D {
  const schema = Type.Union(
    [
      Type.Integer({ minimum: 0, maximum: 8192 }),
      Type.String({ pattern: '^([0-9]|[1-4][0-9]|50)%$', examples: ['50%'] }),
    ],
    { description, ...options },
  );
  return schema as TUnion<[TInteger, TString]> & D;
}

/** The sentence about `attention` in the description of every gravity parameter. */
export const ATTENTION_HINT =
  'attention finds contrast and colour, not faces: for those give a place, or focalX and focalY.';

/**
 * A parameter that names a place, the part that draws the eye (`attention`), or the part with the most detail
 * (`entropy`).
 */
export function gravityParameter<const D extends DefaultOption<Gravity> = NoDefaultOption>(
  description: string,
  options?: D,
): TUnsafe<Gravity> & D {
  const says = `${description} ${ATTENTION_HINT}`;
  return choiceParameter([...PLACE_NAMES, 'attention', 'entropy'] as const, says, options);
}

export const FOCAL_POINT_PARAMETERS = {
  focalX: optionalParameter(
    numberParameter(
      0,
      1,
      'The point to keep in view, as a share of the width from the left; instead of gravity.',
    ),
  ),
  focalY: optionalParameter(
    numberParameter(
      0,
      1,
      'The point to keep in view, as a share of the height from the top; instead of gravity.',
    ),
  ),
};

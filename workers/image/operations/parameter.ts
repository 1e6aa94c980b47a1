import {
  type NumberOptions,
  type Static,
  type TArray,
  type TBoolean,
  type TInteger,
  type TNumber,
  type TObject,
  type TOptional,
  type TProperties,
  type TSchema,
  type TString,
  type TUnion,
  type TUnsafe,
  Type,
} from '@sinclair/typebox';
import { PLACE_NAMES, type Place } from '../pixels/geometry.ts';

export { isTranslucent } from '../colour/colour.ts';
export { COLOUR_NAMES, COLOUR_NOTATIONS, cssColour } from '../colour/css-colour.ts';
export { searchEffort, USUAL_EFFORT } from '../encode/effort.ts';
export { alphaLevels, lossyReason } from '../encode/encoder.ts';
export { movingEffort } from '../encode/moving-effort.ts';
export { MAX_EDGE_PX, PLACE_NAMES } from '../pixels/geometry.ts';
export { scalesOnLoad } from '../scale-on-load.ts';

const MAX_MARGIN_PX = 4096;

/**
 * The default of a parameter, or none. It is part of the schema's type, which says the arguments that may be left out.
 */
type Default<T> = { readonly default: T } | NoDefault;
type NoDefault = Readonly<Record<never, never>>;

/** Arguments as an operation or op works with them, with defaults filled in. */
export type Filled<P extends TProperties> = Readonly<Static<TObject<P>>>;

/** Arguments as sent: optional ones, and ones with a default, may be left out. */
export type SentParams<P extends TProperties> = {
  readonly [K in Exclude<keyof P, Omissible<P>>]: Static<P[K]>;
} & { readonly [K in Omissible<P>]?: Static<P[K]> | undefined };

type Omissible<P extends TProperties> = {
  [K in keyof P]: P[K] extends TOptional<TSchema> | { readonly default: unknown } ? K : never;
}[keyof P];

/** The schema of the arguments: it allows no undeclared ones, and those with a default may be left out. */
export function argumentsSchema(properties: TProperties, options: { open?: boolean } = {}): TObject {
  const wire = Object.entries(properties).map(([name, schema]): [string, TSchema] => [
    name,
    'default' in schema ? Type.Optional(schema) : schema,
  ]);
  return Type.Object(Object.fromEntries(wire), { additionalProperties: options.open ?? false });
}

/** Fills in the defaults of arguments that were left out. */
export function defaultsFiller<P extends TProperties>(
  properties: P,
): (sent: Readonly<Record<string, unknown>>) => Filled<P> {
  const withDefault = Object.entries(properties).filter(([, schema]) => 'default' in schema);
  const defaults = Object.fromEntries(withDefault.map(([name, schema]) => [name, schema.default]));
  return (sent) => ({ ...defaults, ...sent }) as Filled<P>;
}

export const integer = bounded(Type.Integer);
export const number = bounded(Type.Number);

function bounded<S extends TNumber | TInteger>(make: (options: NumberOptions) => S) {
  return <const D extends Default<number> = NoDefault>(
    minimum: number,
    maximum: number,
    description: string,
    options?: D,
  ) => make({ minimum, maximum, description, ...options }) as S & D;
}

export function numbers(minItems: number, maxItems: number, description: string): TArray<TNumber> {
  return Type.Array(Type.Number({ minimum: -1e6, maximum: 1e6 }), { minItems, maxItems, description });
}

export function flag<const D extends Default<boolean> = NoDefault>(
  description: string,
  options?: D,
): TBoolean & D {
  return Type.Boolean({ description, ...options }) as TBoolean & D;
}

/** One of a fixed set of words. */
export function choice<const T extends string, const D extends Default<NoInfer<T>> = NoDefault>(
  values: readonly T[],
  description: string,
  options?: D,
): TUnsafe<T> & D {
  return Type.Unsafe<T>({ type: 'string', enum: [...values], description, ...options }) as TUnsafe<T> & D;
}

/** Text of a bounded length, in characters. */
export function text<const D extends Default<string> = NoDefault>(
  minLength: number,
  maxLength: number,
  description: string,
  options?: D,
): TString & D {
  return Type.String({ minLength, maxLength, description, ...options }) as TString & D;
}

/** A CSS colour; the schema validator implements the format `css-color`. */
export function colour<const D extends Default<string> = NoDefault>(
  description: string,
  options?: D,
): TString & D {
  const schema = { format: 'css-color', minLength: 3, maxLength: 64, description, ...options };
  return Type.String(schema) as TString & D;
}

export function assetId(description: string): TString {
  return text(1, 64, description);
}

export const optional = Type.Optional;

export function position<const D extends Default<Place> = NoDefault>(
  description: string,
  options?: D,
): TUnsafe<Place> & D {
  return choice(PLACE_NAMES, description, options);
}

/** The distance of a placed thing from the edges: in pixels, or as a share of the shorter side. See `marginPx`. */
export function margin<const D extends { readonly default: number }>(
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

/** The radius of round corners: in pixels, or as a share of both edges. See `cornerRadius`. */
export function radius<const D extends Default<number> = NoDefault>(
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

export type Gravity = Place | 'attention' | 'entropy';

/** A place, or the part that draws the eye (attention) or has the most detail (entropy). */
export function gravity<const D extends Default<Gravity> = NoDefault>(
  description: string,
  options?: D,
): TUnsafe<Gravity> & D {
  return choice([...PLACE_NAMES, 'attention', 'entropy'] as const, description, options);
}

export const FOCAL_POINT_PARAMETERS = {
  focalX: optional(
    number(0, 1, 'The point to keep in view, as a share of the width from the left; instead of gravity.'),
  ),
  focalY: optional(
    number(0, 1, 'The point to keep in view, as a share of the height from the top; instead of gravity.'),
  ),
};

import type {
  NumberOptions,
  TArray,
  TBoolean,
  TInteger,
  TNumber,
  TString,
  TUnion,
  TUnsafe,
} from '@sinclair/typebox';
import { GRAVITY_NAMES, type GravityName } from '../pixels/geometry.ts';
import type { Gravity } from '../sizing.ts';
import { Type } from './schema.ts';

/*
 * The kinds of parameters. This module is imported as a whole: `parameter.integer(…)`.
 */

/**
 * The default of a parameter, if it has one. It is part of the type of the schema, from which the types of optional
 * arguments are derived.
 */
type DefaultOption<T> = { readonly default: T } | NoDefaultOption;
type NoDefaultOption = Readonly<Record<never, never>>;

export const optional = Type.Optional;
export const integer = boundedNumber(Type.Integer);
export const number = boundedNumber(Type.Number);

function boundedNumber<S extends TNumber | TInteger>(make: (options: NumberOptions) => S) {
  return <const D extends DefaultOption<number> = NoDefaultOption>(
    minimum: number,
    maximum: number,
    description: string,
    options?: D,
  ) => make({ minimum, maximum, description, ...options }) as S & D;
}

export function numberList(minItems: number, maxItems: number, description: string): TArray<TNumber> {
  return Type.Array(Type.Number({ minimum: -1e6, maximum: 1e6 }), { minItems, maxItems, description });
}

export function flag<const D extends DefaultOption<boolean> = NoDefaultOption>(
  description: string,
  options?: D,
): TBoolean & D {
  return Type.Boolean({ description, ...options }) as TBoolean & D;
}

/** One of a fixed set of words. */
export function choice<const T extends string, const D extends DefaultOption<NoInfer<T>> = NoDefaultOption>(
  values: readonly T[],
  description: string,
  options?: D,
): TUnsafe<T> & D {
  return Type.Unsafe<T>({ type: 'string', enum: [...values], description, ...options }) as TUnsafe<T> & D;
}

/** A text of a bounded length, in characters. */
export function text<const D extends DefaultOption<string> = NoDefaultOption>(
  minLength: number,
  maxLength: number,
  description: string,
  options?: D,
): TString & D {
  return Type.String({ minLength, maxLength, description, ...options }) as TString & D;
}

/** A CSS colour; the schema validator implements the format `css-color`. */
export function colour<const D extends DefaultOption<string> = NoDefaultOption>(
  description: string,
  options?: D,
): TString & D {
  const schema = { format: 'css-color', minLength: 3, maxLength: 64, description, ...options };
  return Type.String(schema) as TString & D;
}

export function assetId(description: string): TString {
  return text(1, 64, description);
}

export function position<const D extends DefaultOption<GravityName> = NoDefaultOption>(
  description: string,
  options?: D,
): TUnsafe<GravityName> & D {
  return choice(GRAVITY_NAMES, description, options);
}

/**
 * A length in whole pixels, or as a share of the picture in percent.
 * @param pixels the smallest and the largest number of pixels.
 * @param share the pattern of the percentages, and an example.
 */
export function pixelsOrShare<const D extends DefaultOption<number> = NoDefaultOption>(
  [minimum, maximum]: readonly [number, number],
  [pattern, example]: readonly [string, string],
  description: string,
  options?: D,
): TUnion<[TInteger, TString]> & D {
  const schema = Type.Union(
    [Type.Integer({ minimum, maximum }), Type.String({ pattern, examples: [example] })],
    { description, ...options },
  );
  return schema as TUnion<[TInteger, TString]> & D;
}

const MAX_MARGIN_PX = 4096;

/** The distance of a placed text or picture from the edges. See `marginPx`. */
export function margin<const D extends { readonly default: number }>(description: string, options: D) {
  const share = ['^(100|[1-9]?[0-9](\\.[0-9]+)?)%$', '5%'] as const;
  return pixelsOrShare([0, MAX_MARGIN_PX], share, description, options);
}

/** The radius of round corners. See `cornerRadius`. */
export function radius<const D extends DefaultOption<number> = NoDefaultOption>(
  description: string,
  options?: D,
) {
  return pixelsOrShare([0, 8192], ['^([0-9]|[1-4][0-9]|50)%$', '50%'], description, options);
}

/** The sentence about `attention` in the description of every gravity parameter. */
export const ATTENTION_HINT =
  'attention finds contrast and colour, not faces: for those give a place, or focalX and focalY.';

/** A place, the part that draws the eye (`attention`), or the part with the most detail (`entropy`). */
export function gravity<const D extends DefaultOption<Gravity> = NoDefaultOption>(
  description: string,
  options?: D,
): TUnsafe<Gravity> & D {
  const fullDescription = `${description} ${ATTENTION_HINT}`;
  return choice([...GRAVITY_NAMES, 'attention', 'entropy'] as const, fullDescription, options);
}

export const FOCAL_POINT = {
  focalX: optional(
    number(0, 1, 'The point to keep in view, as a share of the width from the left; instead of gravity.'),
  ),
  focalY: optional(
    number(0, 1, 'The point to keep in view, as a share of the height from the top; instead of gravity.'),
  ),
};

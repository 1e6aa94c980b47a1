import {
  type TArray,
  type TBoolean,
  type TInteger,
  type TNumber,
  type TString,
  type TUnsafe,
  Type,
} from '@sinclair/typebox';
import { PLACE_NAMES, type Place } from '../geometry.ts';

export { isTranslucent } from '../colour.ts';
export { COLOUR_NOTATIONS, cssColour } from '../css-colour.ts';
export { lossyWriter } from '../lossless.ts';

export function integer(
  minimum: number,
  maximum: number,
  description: string,
  options: { default?: number } = {},
): TInteger {
  return Type.Integer({ minimum, maximum, description, ...options });
}

export function number(
  minimum: number,
  maximum: number,
  description: string,
  options: { default?: number } = {},
): TNumber {
  return Type.Number({ minimum, maximum, description, ...options });
}

export function numbers(minItems: number, maxItems: number, description: string): TArray<TNumber> {
  return Type.Array(Type.Number({ minimum: -1e6, maximum: 1e6 }), { minItems, maxItems, description });
}

export function flag(description: string, options: { default?: boolean } = {}): TBoolean {
  return Type.Boolean({ description, ...options });
}

/** One of a few words. */
export function choice<const T extends string>(
  values: readonly T[],
  description: string,
  options: { default?: T } = {},
): TUnsafe<T> {
  return Type.Unsafe<T>({ type: 'string', enum: [...values], description, ...options });
}

/** A CSS colour; the checker of the schema knows the format `css-color`. */
export function colour(description: string, options: { default?: string } = {}): TString {
  return Type.String({ format: 'css-color', minLength: 3, maxLength: 64, description, ...options });
}

export function assetId(description: string): TString {
  return Type.String({ minLength: 1, maxLength: 64, description });
}

export const optional = Type.Optional;

export function position(description: string, options: { default?: Place } = {}): TUnsafe<Place> {
  return choice(PLACE_NAMES, description, options);
}

export type Gravity = Place | 'attention' | 'entropy';

/** A place, or the part that draws the eye (attention) or holds most detail (entropy). */
export function gravity(description: string, options: { default?: Gravity } = {}): TUnsafe<Gravity> {
  return choice([...PLACE_NAMES, 'attention', 'entropy'] as const, description, options);
}

export const FOCAL = {
  focalX: optional(
    number(0, 1, 'The point to keep in view, as a share of the width from the left; instead of gravity.'),
  ),
  focalY: optional(
    number(0, 1, 'The point to keep in view, as a share of the height from the top; instead of gravity.'),
  ),
};

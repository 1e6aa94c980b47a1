import { type TSchema, type TUnsafe, Type } from '@sinclair/typebox';

/**
 * The vocabulary that ops declare their parameters in. A schema with a `default` may be left out on the wire and is
 * always there in `compile`; one without is required, unless it is wrapped in `optional`.
 */

export interface Fallback<T> {
  default?: T;
}

/** A whole number between two bounds, both included. */
export function integer(
  minimum: number,
  maximum: number,
  description: string,
  fallback: Fallback<number> = {},
) {
  return Type.Integer({ minimum, maximum, description, ...fallback });
}

/** A number between two bounds, both included. */
export function number(
  minimum: number,
  maximum: number,
  description: string,
  fallback: Fallback<number> = {},
) {
  return Type.Number({ minimum, maximum, description, ...fallback });
}

/** true or false. */
export function flag(description: string, fallback: Fallback<boolean> = {}) {
  return Type.Boolean({ description, ...fallback });
}

/** One of a few words. */
export function choice<const T extends string>(
  values: readonly T[],
  description: string,
  fallback: Fallback<T> = {},
): TUnsafe<T> {
  return Type.Unsafe<T>({ type: 'string', enum: [...values], description, ...fallback });
}

/** Text of a bounded length, in characters. */
export function text(
  minLength: number,
  maxLength: number,
  description: string,
  fallback: Fallback<string> = {},
) {
  return Type.String({ minLength, maxLength, description, ...fallback });
}

/** A CSS colour: a name, `#rgb`, `#rrggbb` with or without alpha, rgb(), rgba(), hsl() or hsla(). */
export function color(description: string, fallback: Fallback<string> = {}) {
  return Type.String({ format: 'css-color', maxLength: 64, description, ...fallback });
}

/** The id of one of the caller's assets. */
export function assetId(description: string) {
  return text(1, 100, description);
}

/** What may be left out without a default: its absence has a meaning of its own. */
export function optional<T extends TSchema>(schema: T) {
  return Type.Optional(schema);
}

const NINE_POSITIONS = [
  'center',
  'north',
  'northeast',
  'east',
  'southeast',
  'south',
  'southwest',
  'west',
  'northwest',
] as const;

/** Where a smaller thing sits in a larger one. */
export function position(description: string, fallback: Fallback<(typeof NINE_POSITIONS)[number]> = {}) {
  return choice(NINE_POSITIONS, description, fallback);
}

/** Which part of the picture a crop keeps. */
export function gravity(
  description: string,
  fallback: Fallback<(typeof NINE_POSITIONS)[number] | 'attention' | 'entropy'> = {},
) {
  return choice([...NINE_POSITIONS, 'attention', 'entropy'], description, fallback);
}

/** The instruction that an AI op takes beside its parameters. */
export function prompt(description: string, fallback: Fallback<string> = {}) {
  return text(1, 8000, description, fallback);
}

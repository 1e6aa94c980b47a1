import type { TInteger, TNumber, TSchema } from '@sinclair/typebox';
import { textParameter } from '../../../workers/image/operations/parameter.ts';

interface Wording {
  description?: string;
  examples?: readonly unknown[];
}

/** Gives a parameter of the registry the limits or the description for one op. Its type and its default stay. */
export function adaptParameter<S extends TSchema>(
  schema: S,
  changes: S extends TInteger | TNumber ? Wording & { minimum?: number; maximum?: number } : Wording,
): S {
  return { ...schema, ...changes };
}

/** The longest prompt of a model, including the descriptors of its subjects. */
export const MAX_PROMPT_CHARACTERS = 32_000;

/** The prompt that an AI op takes in addition to its parameters. */
export function promptField(description: string, options?: { default: string }) {
  return textParameter(1, MAX_PROMPT_CHARACTERS, description, options);
}

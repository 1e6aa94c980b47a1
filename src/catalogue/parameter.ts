import type { TInteger, TNumber, TSchema } from '@sinclair/typebox';
import { text } from '../../workers/image/operations/parameter.ts';

export {
  assetId,
  choice,
  colour,
  contract,
  EDGE_LIMIT_PX,
  FOCAL,
  flag,
  gravity,
  integer,
  number,
  optional,
  position,
  text,
} from '../../workers/image/operations/parameter.ts';

interface Wording {
  description?: string;
  examples?: readonly unknown[];
}

/** A parameter of the registry as an op says it: with tighter bounds or in other words. Its type and default stay. */
export function adapted<S extends TSchema>(
  schema: S,
  changes: S extends TInteger | TNumber ? Wording & { minimum?: number; maximum?: number } : Wording,
): S {
  return { ...schema, ...changes };
}

/** The instruction that an AI op takes beside its parameters. */
export function prompt(description: string, options?: { default: string }) {
  return text(1, 32_000, description, options);
}

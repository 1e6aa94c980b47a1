import { Type } from '@sinclair/typebox';

export {
  assetId,
  choice,
  colour,
  FOCAL,
  flag,
  gravity,
  integer,
  number,
  optional,
  position,
} from '../../workers/image/operations/parameter.ts';

/** Text of a bounded length, in characters. */
export function text(
  minLength: number,
  maxLength: number,
  description: string,
  options: { default?: string } = {},
) {
  return Type.String({ minLength, maxLength, description, ...options });
}

/** The instruction that an AI op takes beside its parameters. */
export function prompt(description: string, options: { default?: string } = {}) {
  return text(1, 8000, description, options);
}

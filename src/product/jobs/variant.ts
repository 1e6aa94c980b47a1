import { Type } from '@sinclair/typebox';
import { WITHIN_ANY_PARAMETERS } from '../catalogue/index.ts';
import type { GivenParameters } from '../catalogue/op.ts';

/** A variant of a job, as sent. Its parameters are merged into those of the job. */
export const VariantFields = Type.Object(
  {
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
    parameters: Type.Optional(Type.Unsafe<GivenParameters>({ type: 'object', additionalProperties: true })),
  },
  { additionalProperties: false, within: WITHIN_ANY_PARAMETERS },
);

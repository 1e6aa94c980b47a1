import { type TObject, type TSchema, Type } from '@sinclair/typebox';
import { present } from '../../platform/values/present.ts';
import type { Model } from './models.ts';

type ModelParameter = Model['parameters'][number];

const contracts = new WeakMap<Model, TObject>();

/**
 * The contract of the parameters that a model lists; all others go to it as they are sent. It is made once for each
 * model, because the validator of a contract is kept.
 */
export function contractOf(model: Model): TObject {
  const known = contracts.get(model);
  if (known !== undefined) return known;
  const properties = model.parameters.map((parameter) => [parameter.key, Type.Optional(schemaOf(parameter))]);
  const made = Type.Object(Object.fromEntries(properties), { additionalProperties: true });
  contracts.set(model, made);
  return made;
}

function schemaOf({ type, options, min, max, pattern, defaultValue }: ModelParameter): TSchema {
  return Type.Unsafe({
    type,
    ...present({ enum: options, minimum: min, maximum: max, pattern }),
    ...(pattern !== undefined && { examples: [defaultValue] }),
  });
}

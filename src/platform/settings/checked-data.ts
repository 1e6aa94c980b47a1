import type { Static, TSchema } from '@sinclair/typebox';
import { Ajv } from 'ajv';

const ajv = new Ajv({ allErrors: true });

/**
 * What a data file of config/ holds, once it is certain that it is as the schema says.
 * @throws Error with one sentence for each violation, naming the file and the place in it.
 */
export function checkedData<T extends TSchema>(file: string, schema: T, data: unknown): Static<T> {
  const validate = ajv.compile<Static<T>>(schema);
  if (validate(data)) return data;
  const violations = validate.errors ?? [];
  throw new Error(
    violations.map(({ instancePath, message }) => `${file}${instancePath} ${message}.`).join('\n'),
  );
}

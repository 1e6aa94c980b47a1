import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { Ajv } from 'ajv';

/**
 * The service's own schemas are not validated themselves, because compiling the meta-schema takes a tenth of the time
 * of a start.
 */
const ajv = new Ajv({ allErrors: true, validateSchema: false });

/** The schema of an object in a data file. It allows no other properties, so that a misspelt one is refused. */
export function exactObjectSchema<P extends TProperties>(properties: P): TObject<P> {
  return Type.Object(properties, { additionalProperties: false });
}

/**
 * Checks the parsed content of a data file of config/ against its schema, and returns it.
 * @throws Error with one sentence for each violation, with the file and the position.
 */
export function checkDataFile<T extends TSchema>(file: string, schema: T, data: unknown): Static<T> {
  const validate = ajv.compile<Static<T>>(schema);
  if (validate(data)) return data;
  const violations = validate.errors ?? [];
  throw new Error(
    violations.map(({ instancePath, message }) => `${file}${instancePath} ${message}.`).join('\n'),
  );
}

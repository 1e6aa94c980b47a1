import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { Ajv } from 'ajv';

/** Our own schemas are not checked against the schema of schemas, whose compilation costs a tenth of a start. */
const ajv = new Ajv({ allErrors: true, validateSchema: false });

/** An object of a data file. It has no other properties, so that a misspelt one is refused. */
export function exactObject<P extends TProperties>(properties: P): TObject<P> {
  return Type.Object(properties, { additionalProperties: false });
}

/**
 * Reads a data file of config/ and checks it against its schema.
 * @throws Error with one sentence for each violation, with the file and the position.
 */
export function checkedData<T extends TSchema>(file: string, schema: T, data: unknown): Static<T> {
  const validate = ajv.compile<Static<T>>(schema);
  if (validate(data)) return data;
  const violations = validate.errors ?? [];
  throw new Error(
    violations.map(({ instancePath, message }) => `${file}${instancePath} ${message}.`).join('\n'),
  );
}

import type { Static, TObject, TOptional, TProperties, TSchema } from '@sinclair/typebox';
import { Type } from './schema.ts';

/** Arguments with their defaults filled in, as an operation or op receives them. */
export type FilledArguments<P extends TProperties> = Readonly<Static<TObject<P>>>;

/** Arguments as sent. Those that are optional or have a default may be left out. */
export type RequestedArguments<P extends TProperties> = {
  readonly [K in Exclude<keyof P, OptionalKeys<P>>]: Static<P[K]>;
} & { readonly [K in OptionalKeys<P>]?: Static<P[K]> | undefined };

type OptionalKeys<P extends TProperties> = {
  [K in keyof P]: P[K] extends TOptional<TSchema> | { readonly default: unknown } ? K : never;
}[keyof P];

/**
 * The schema of the arguments. Arguments with a default may be left out. Undeclared arguments are allowed only if
 * `open` is true.
 */
export function argumentsSchema(properties: TProperties, options: { open?: boolean } = {}): TObject {
  const sentSchemas = Object.entries(properties).map(([name, schema]): [string, TSchema] => [
    name,
    'default' in schema ? Type.Optional(schema) : schema,
  ]);
  return Type.Object(Object.fromEntries(sentSchemas), { additionalProperties: options.open ?? false });
}

/** Fills in the defaults of arguments that were left out. */
export function createDefaultsFiller<P extends TProperties>(
  properties: P,
): (sent: Readonly<Record<string, unknown>>) => FilledArguments<P> {
  const withDefault = Object.entries(properties).filter(([, schema]) => 'default' in schema);
  const defaults = Object.fromEntries(withDefault.map(([name, schema]) => [name, schema.default]));
  return (sent) => ({ ...defaults, ...sent }) as FilledArguments<P>;
}

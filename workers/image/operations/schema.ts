import type {
  ArrayOptions,
  NumberOptions,
  ObjectOptions,
  SchemaOptions,
  StringOptions,
  TArray,
  TBoolean,
  TInteger,
  TLiteral,
  TNumber,
  TObject,
  TOptional,
  TProperties,
  TSchema,
  TString,
  TUnion,
  TUnsafe,
} from '@sinclair/typebox';

const TYPEBOX_KIND = Symbol.for('TypeBox.Kind');
const TYPEBOX_OPTIONAL = Symbol.for('TypeBox.Optional');

/**
 * Schemas equal to those of TypeBox. TypeBox itself is 200 modules, half of what an image thread loads, and each image
 * thread and process would load them.
 */
export const Type = {
  Integer: (options?: NumberOptions) => schemaOf<TInteger>('Integer', { type: 'integer' }, options),
  Number: (options?: NumberOptions) => schemaOf<TNumber>('Number', { type: 'number' }, options),
  Boolean: (options?: SchemaOptions) => schemaOf<TBoolean>('Boolean', { type: 'boolean' }, options),
  String: (options?: StringOptions) => schemaOf<TString>('String', { type: 'string' }, options),
  Literal: <const T extends string>(value: T) =>
    schemaOf<TLiteral<T>>('Literal', { const: value, type: 'string' }),
  Array: <T extends TSchema>(items: T, options?: ArrayOptions) =>
    schemaOf<TArray<T>>('Array', { type: 'array', items }, options),
  Union: <T extends TSchema[]>(anyOf: [...T], options?: SchemaOptions) =>
    schemaOf<TUnion<T>>('Union', { anyOf }, options),
  Unsafe: <T>(options: SchemaOptions) => schemaOf<TUnsafe<T>>('Unsafe', {}, options),
  Optional: <T extends TSchema>(schema: T) => ({ ...schema, [TYPEBOX_OPTIONAL]: 'Optional' }) as TOptional<T>,
  Object<P extends TProperties>(properties: P, options?: ObjectOptions) {
    const required = Object.keys(properties).filter(
      (name) => !(TYPEBOX_OPTIONAL in (properties[name] as TSchema)),
    );
    const keywords = required.length > 0 ? { required, properties } : { properties };
    return schemaOf<TObject<P>>('Object', { type: 'object', ...keywords }, options);
  },
};

function schemaOf<T extends TSchema>(kind: string, keywords: object, options?: object): T {
  return { ...options, [TYPEBOX_KIND]: kind, ...keywords } as unknown as T;
}

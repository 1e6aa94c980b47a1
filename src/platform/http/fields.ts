import { Type } from '@sinclair/typebox';

/** Fields of schemas, each with the sentence that describes it. */
export const text = (description: string) => Type.String({ description });
export const flag = (description: string) => Type.Boolean({ description });
export const int32 = (description: string) => Type.Integer({ format: 'int32', description });
export const int64 = (description: string) => Type.Integer({ format: 'int64', description });
export const instant = (description: string) => Type.String({ format: 'date-time', description });
/** A number whose bounds a rule checks, which words the refusal. */
export const number = (description: string) => Type.Unsafe<number>({ type: 'number', description });
export const anyObject = (description: string) =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, description });
export const anything = (description: string) => Type.Unsafe<unknown>({ description });
export const oneOf = <T extends string>(values: readonly T[], description: string) =>
  Type.Unsafe<T>({ type: 'string', enum: [...values], description });

import { type TObject, type TProperties, Type } from '@sinclair/typebox';

/** The schema of an object that the OpenAPI document names as a component. */
export function componentSchema<P extends TProperties>(title: string, properties: P): TObject<P> {
  return Type.Object(properties, { title });
}

/**
 * Patterns for `documented` in a schema. OpenAPI shows them, while rules with their own messages check the values. A
 * pattern may accept values that only a rule can refuse, such as a date that does not exist.
 */
export const NOT_BLANK_PATTERN = { minLength: 1, pattern: '\\S' };
export const UNRESERVED_SLUG_PATTERN = { pattern: '^(?!builtin-)(?!import$)[a-z0-9]+(-[a-z0-9]+)*$' };
export const VERSION_NUMBER_PATTERN = { pattern: '^[1-9][0-9]{0,8}$' };
export const VERSIONED_REFERENCE_PATTERN = { minLength: 1, pattern: '^[^@]+(@[1-9][0-9]{0,8})?$' };
export const DATE_OR_INSTANT_PATTERN = {
  pattern: '^\\d{4}-\\d{2}-\\d{2}([Tt]\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?([Zz]|[+-]\\d{2}:\\d{2}))?$',
};
export const HTTP_ADDRESS_PATTERN = { format: 'uri', pattern: '^[hH][tT][tT][pP][sS]?://' };
export const CURSOR_PATTERN = { pattern: '^[A-Za-z0-9_-]+$' };

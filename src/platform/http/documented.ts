/**
 * Patterns that rules check in words of their own, for `documented` in a schema: what a rule refuses, OpenAPI refuses
 * too. They may let through what only a rule can find, such as a date that no calendar has.
 */
export const NOT_BLANK = { minLength: 1, pattern: '\\S' };
export const NOT_RESERVED = { pattern: '^(?!builtin-)(?!import$)[a-z0-9]+(-[a-z0-9]+)*$' };
export const VERSION = { pattern: '^[1-9][0-9]{0,8}$' };
export const REFERENCE = { minLength: 1, pattern: '^[^@]+(@[1-9][0-9]{0,8})?$' };
export const DATE_OR_INSTANT = {
  pattern: '^\\d{4}-\\d{2}-\\d{2}([Tt]\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?([Zz]|[+-]\\d{2}:\\d{2}))?$',
};
export const HTTP_ADDRESS = { format: 'uri', pattern: '^[hH][tT][tT][pP][sS]?://' };
export const CURSOR = { pattern: '^[A-Za-z0-9_-]+$' };

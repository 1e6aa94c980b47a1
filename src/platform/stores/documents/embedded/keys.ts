import { valueAtPath } from './fields.ts';

/**
 * A value of an index column. SQLite orders keys as MongoDB does: null and missing values (which are equal), numbers,
 * strings, booleans.
 */
export type IndexKey = number | string | Uint8Array;

/** The key of null and missing values. No number in a document equals it, because JSON has no infinity. */
export const ABSENT_INDEX_KEY = Number.NEGATIVE_INFINITY;
const FALSE = new Uint8Array([0]);
const TRUE = new Uint8Array([1]);

/** The key of a value; undefined for lists and objects, which are not indexed. */
export function indexKeyOfValue(value: unknown): IndexKey | undefined {
  if (value === undefined || value === null) return ABSENT_INDEX_KEY;
  if (typeof value === 'boolean') return value ? TRUE : FALSE;
  return typeof value === 'number' || typeof value === 'string' ? value : undefined;
}

/** The key of a document's field. Throws when the field is a list or an object. */
export function indexKeyOfField(document: object, path: string): IndexKey {
  const key = indexKeyOfValue(valueAtPath(document, path));
  if (key !== undefined) return key;
  throw new TypeError(`The field ${path} is indexed: it holds text, a number, true, false or null.`);
}

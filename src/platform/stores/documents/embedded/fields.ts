import type { DocumentWithId, GroupSumsSpec } from '../port.ts';

type GroupRow = Record<string, string | number | null>;

/** The value at a dotted path; undefined when it is missing. Lists are not searched. */
export function valueAtPath(document: object, path: string): unknown {
  let value: unknown = document;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/**
 * The `_id` and the named fields of a document. Names may be dotted; within a list, they select the field of each
 * element.
 */
export function pickFields(document: object, fields: readonly string[]): object {
  if (!fields.some((field) => field.includes('.'))) return pickTopLevelFields(document, fields);
  const paths = ['_id', ...fields].map((field) => field.split('.'));
  return pickPaths(document, paths);
}

function pickTopLevelFields(document: object, names: readonly string[]): object {
  const picked: Record<string, unknown> = {};
  // The picked fields keep the order of the document.
  for (const name of Object.keys(document)) {
    if (name === '_id' || names.includes(name)) picked[name] = (document as Record<string, unknown>)[name];
  }
  return picked;
}

function pickPaths(value: object, paths: string[][]): object {
  const picked: Record<string, unknown> = {};
  for (const [name, ofName] of Object.entries(value)) {
    const remainingPaths = paths.filter((path) => path[0] === name).map((path) => path.slice(1));
    if (remainingPaths.some((rest) => rest.length === 0)) picked[name] = ofName;
    else if (Array.isArray(ofName) && remainingPaths.length > 0) {
      picked[name] = ofName.filter(isObject).map((element) => pickPaths(element, remainingPaths));
    } else if (isObject(ofName) && remainingPaths.length > 0)
      picked[name] = pickPaths(ofName, remainingPaths);
  }
  return picked;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Groups and sums a stream of documents, with one row in memory per distinct key. */
export function groupedSums(
  documents: Iterable<object>,
  { by, sums }: Pick<GroupSumsSpec, 'by' | 'sums'>,
): GroupRow[] {
  const zeroSums = Object.fromEntries(Object.keys(sums).map((name) => [name, 0]));
  const rows = new Map<string, GroupRow>();
  for (const document of documents) {
    const keys = Object.entries(by).map(([name, field]) => [name, valueAtPath(document, field) ?? null]);
    const text = JSON.stringify(keys);
    const row: GroupRow = rows.get(text) ?? { ...Object.fromEntries(keys), ...zeroSums };
    rows.set(text, row);
    for (const [name, field] of Object.entries(sums)) {
      const value = field === 1 ? 1 : valueAtPath(document, field);
      if (typeof value === 'number') row[name] = Number(row[name]) + value;
    }
  }
  return [...rows.values()];
}

/**
 * The value of a field in an index column. SQLite orders these keys as MongoDB does: first null and missing values,
 * which are equal, then numbers, strings and booleans.
 */
export type IndexKey = number | string | Uint8Array;

/** The key of null and missing values. No number in a document equals it, because JSON has no infinity. */
export const ABSENT_INDEX_KEY = Number.NEGATIVE_INFINITY;
const FALSE_KEY = new Uint8Array([0]);
const TRUE_KEY = new Uint8Array([1]);

/** The key of a value; undefined for lists and objects, which are not indexed. */
export function indexKeyOfValue(value: unknown): IndexKey | undefined {
  if (value === undefined || value === null) return ABSENT_INDEX_KEY;
  if (typeof value === 'boolean') return value ? TRUE_KEY : FALSE_KEY;
  return typeof value === 'number' || typeof value === 'string' ? value : undefined;
}

/** The key of a document's field. Throws when the field is a list or an object. */
export function indexKeyOfField(document: object, path: string): IndexKey {
  const key = indexKeyOfValue(valueAtPath(document, path));
  if (key !== undefined) return key;
  throw new TypeError(`The field ${path} is indexed: it holds text, a number, true, false or null.`);
}

/**
 * Builds the document with these values at dotted paths. Each value is given as its index key, and no value is absent.
 */
export function documentFromPathValues(
  keys: ReadonlyArray<readonly [path: string, key: unknown]>,
): DocumentWithId {
  const document: Record<string, unknown> = {};
  for (const [path, key] of keys) {
    const names = path.split('.');
    const last = names.pop() ?? '';
    let parent = document;
    for (const name of names) {
      parent[name] ??= {};
      parent = parent[name] as Record<string, unknown>;
    }
    parent[last] = key instanceof Uint8Array ? key[0] === TRUE_KEY[0] : key;
  }
  return document as unknown as DocumentWithId;
}

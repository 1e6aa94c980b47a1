import { isDeepStrictEqual } from 'node:util';
import {
  type DocumentFilter,
  type DocumentUpdate,
  type DocumentWithId,
  equalityFieldsOf,
  upsertId,
} from '../port.ts';
import { ABSENT_INDEX_KEY, indexKeyOfValue } from './fields.ts';

type ParentObject = Record<string, unknown>;
type UpdateOperator = Exclude<keyof DocumentUpdate, '$setOnInsert'>;

/** Changes one field of its parent object. */
type ChangeField = (parent: ParentObject, name: string, argument: unknown) => void;

/** Names that would change the prototype of a document. */
const PROTOTYPE_NAMES = new Set(['__proto__', 'constructor', 'prototype']);

/** The operators of an update, as MongoDB defines them. */
const UPDATE_OPERATORS: Record<UpdateOperator, ChangeField> = {
  $set(parent, name, value) {
    parent[name] = value;
  },
  $unset(parent, name) {
    delete parent[name];
  },
  $inc(parent, name, amount) {
    const before = ownValue(parent, name) === undefined ? 0 : parent[name];
    if (typeof before !== 'number' || typeof amount !== 'number')
      throw new TypeError(`${name} is not a number to add to.`);
    parent[name] = before + amount;
  },
  $max(parent, name, value) {
    const before = ownValue(parent, name);
    if (before === undefined || compareValues(value, before) > 0) parent[name] = value;
  },
  $push(parent, name, argument) {
    const { each, slice } = parsePushArgument(argument);
    const list = [...listIn(parent, name), ...each];
    parent[name] = slice === undefined ? list : slice < 0 ? list.slice(slice) : list.slice(0, slice);
  },
  $pull(parent, name, condition) {
    if (ownValue(parent, name) === undefined) return;
    parent[name] = listIn(parent, name).filter((entry) => !isPulled(entry, condition));
  },
};

/**
 * Changes the document in place; values of the update are not copied.
 * @throws TypeError for an update that MongoDB refuses: of the `_id`, of a field and a part of it at once, or of a
 *   value that the operator cannot change.
 */
export function applyDocumentUpdate(
  document: DocumentWithId,
  { $setOnInsert: _whenInserted, ...operators }: DocumentUpdate,
): void {
  const changes = Object.entries(operators) as Array<[UpdateOperator, Record<string, unknown>]>;
  checkUpdatePaths(changes.flatMap(([, fields]) => Object.keys(fields)));
  for (const [operator, fields] of changes) {
    const change = Object.hasOwn(UPDATE_OPERATORS, operator) ? UPDATE_OPERATORS[operator] : undefined;
    if (change === undefined) throw new TypeError(`There is no update operator ${operator}.`);
    const createsField = operator !== '$unset' && operator !== '$pull';
    for (const [path, argument] of Object.entries(fields)) {
      if (argument === undefined) continue;
      const field = fieldAt(document, path, createsField);
      if (field !== null) change(field.parent, field.name, argument);
    }
  }
}

/**
 * The document that an upsert inserts: the fields that the filter requires, with the changes of $setOnInsert and of the
 * update.
 */
export function upsertedDocument(filter: DocumentFilter, update: DocumentUpdate): DocumentWithId {
  const document: DocumentWithId = { _id: upsertId(filter, update) };
  const { _id, ...initial } = { ...equalityFieldsOf(filter), ...update.$setOnInsert };
  applyDocumentUpdate(document, { $set: initial });
  applyDocumentUpdate(document, update);
  return document;
}

/** Refuses an update of a field and of a part of it at once, because the result would depend on the order. */
function checkUpdatePaths(paths: readonly string[]): void {
  for (const [index, path] of paths.entries()) {
    if (path === '_id' || path.startsWith('_id.'))
      throw new TypeError('The _id of a document does not change.');
    if (path.split('.').some((name) => name === '' || name.startsWith('$') || PROTOTYPE_NAMES.has(name)))
      throw new TypeError(`${path} is not a path that an update takes.`);
    for (let other = 0; other < index; other++)
      if (pathsOverlap(path, paths[other] as string)) throw new TypeError(`${path} would be changed twice.`);
  }
}

function pathsOverlap(one: string, other: string): boolean {
  if (one.length === other.length) return one === other;
  return one.length > other.length ? one.startsWith(`${other}.`) : other.startsWith(`${one}.`);
}

/**
 * The field at a path, with the object that contains it; null when a part of the path is missing and must not be
 * created.
 */
function fieldAt(
  document: DocumentWithId,
  path: string,
  creates: boolean,
): { parent: ParentObject; name: string } | null {
  const names = path.split('.');
  const name = names.pop() as string;
  let parent = document as DocumentWithId & ParentObject as ParentObject;
  for (const step of names) {
    if (ownValue(parent, step) === undefined) {
      if (!creates) return null;
      parent[step] = {};
    }
    const next = parent[step];
    if (typeof next !== 'object' || next === null || Array.isArray(next)) {
      if (!creates) return null;
      throw new TypeError(`${path} leads through a value that has no fields.`);
    }
    parent = next as ParentObject;
  }
  return { parent, name };
}

function parsePushArgument(argument: unknown): { each: unknown[]; slice?: number } {
  if (typeof argument !== 'object' || argument === null || !Object.hasOwn(argument, '$each'))
    return { each: [argument] };
  const { $each, $slice } = argument as { $each: unknown; $slice?: unknown };
  if (!Array.isArray($each)) throw new TypeError('$each takes a list.');
  if ($slice === undefined) return { each: $each };
  if (typeof $slice !== 'number' || !Number.isInteger($slice))
    throw new TypeError('$slice takes a whole number.');
  return { each: $each, slice: $slice };
}

/** The list in a field; an empty list if the field is missing. */
function listIn(parent: ParentObject, name: string): readonly unknown[] {
  const list = ownValue(parent, name);
  if (list === undefined) return [];
  if (!Array.isArray(list)) throw new TypeError(`${name} is not a list.`);
  return list;
}

/** The value of an own property. Every object also inherits some names, which do not count. */
function ownValue(parent: ParentObject, name: string): unknown {
  return Object.hasOwn(parent, name) ? parent[name] : undefined;
}

/**
 * Whether $pull removes an entry of a list. It does if the entry equals the condition, or has all fields of a condition
 * that is an object.
 */
function isPulled(entry: unknown, condition: unknown): boolean {
  if (typeof condition !== 'object' || condition === null) return entry === condition;
  if (typeof entry !== 'object' || entry === null) return false;
  return Object.entries(condition).every(([name, value]) =>
    isDeepStrictEqual(ownValue(entry as ParentObject, name), value),
  );
}

/** Compares two values: negative, 0 or positive. Numbers precede text, and text precedes booleans, as in an index. */
function compareValues(one: unknown, other: unknown): number {
  const [rank, otherRank] = [requireSortRank(one), requireSortRank(other)];
  if (rank !== otherRank) return rank - otherRank;
  const [key, otherKey] = [one as string, other as string];
  return key < otherKey ? -1 : Number(key > otherKey);
}

function requireSortRank(value: unknown): number {
  const key = indexKeyOfValue(value);
  if (key === undefined) throw new TypeError('Only text, numbers, true and false have an order.');
  if (key === ABSENT_INDEX_KEY) return 0;
  return typeof value === 'number' ? 1 : typeof value === 'string' ? 2 : 3;
}

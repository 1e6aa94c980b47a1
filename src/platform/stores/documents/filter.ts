import type { DocumentFilter, DocumentUpdate } from './port.ts';

/**
 * Refuses a filter with `undefined`. JSON would drop such a field, and the remaining filter would match documents that
 * were not meant, such as those of other accounts.
 */
export function assertNoUndefined(filter: unknown, path = 'filter'): void {
  if (filter === undefined) throw new TypeError(`The value at ${path} is undefined.`);
  if (typeof filter !== 'object' || filter === null) return;
  for (const [key, value] of Object.entries(filter)) assertNoUndefined(value, `${path}.${key}`);
}

/** The fields for which a filter requires one value. An upsert begins with them. */
export function equalityFieldsOf(filter: DocumentFilter): Record<string, unknown> {
  const fixed: Record<string, unknown> = {};
  for (const [field, condition] of Object.entries(filter)) {
    if (field === '$and') Object.assign(fixed, ...(condition as DocumentFilter[]).map(equalityFieldsOf));
    else if (field.startsWith('$')) continue;
    else if (!isOperatorCondition(condition)) fixed[field] = condition;
    else if ('$eq' in condition) fixed[field] = condition.$eq;
  }
  return fixed;
}

/** The `_id` that an upsert would insert. Throws when neither the filter nor $setOnInsert names one. */
export function upsertId(filter: DocumentFilter, update: DocumentUpdate): string {
  const id = update.$setOnInsert?._id ?? equalityFieldsOf(filter)._id;
  if (typeof id === 'string') return id;
  throw new TypeError('An upsert needs an _id in its filter or in $setOnInsert.');
}

/** True for operators such as `{$gt: 1}`, false for a value to compare with. */
export function isOperatorCondition(condition: unknown): condition is Record<string, unknown> {
  if (typeof condition !== 'object' || condition === null || Array.isArray(condition)) return false;
  const [first] = Object.keys(condition);
  return first?.startsWith('$') ?? false;
}

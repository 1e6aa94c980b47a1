/**
 * Tag values as plain JSON within limits. A file may carry megabytes under one name, and names that have a meaning in
 * JavaScript or in a document store.
 */

const MAX_TEXT_CHARACTERS = 4_000;
/** Longer lists are internal tables of the file or binary data, not facts. */
const MAX_LIST_ENTRIES = 64;
const MAX_DEPTH = 6;
const MAX_NAME_CHARACTERS = 128;

export type PlainTagValue = string | number | boolean | PlainTagValue[] | { [name: string]: PlainTagValue };

/** The characters of JSON that the tags of a file may still take. */
interface TagBudget {
  leftCharacters: number;
}

/**
 * The tags of one group as plain values. Tags that are binary, empty, too deep, badly named or past the budget are left
 * out. A long text is cut.
 */
export function plainTagsOf(
  tags: Iterable<readonly [string, unknown]>,
  budget: TagBudget,
): Record<string, PlainTagValue> {
  const plain: Record<string, PlainTagValue> = {};
  for (const [name, value] of tags) {
    if (!isSafeName(name)) continue;
    const plainValue = toPlain(value, 0);
    if (plainValue === undefined) continue;
    const characters = JSON.stringify([name, plainValue]).length;
    if (characters > budget.leftCharacters) continue;
    budget.leftCharacters -= characters;
    plain[name] = plainValue;
  }
  return plain;
}

/**
 * Whether a name is safe: it is no property of Object.prototype, no operator of a document store, and has no control
 * characters.
 */
function isSafeName(name: string): boolean {
  return (
    name !== '' &&
    name.length <= MAX_NAME_CHARACTERS &&
    !(name in Object.prototype) &&
    !name.startsWith('$') &&
    !/\p{Cc}/u.test(name)
  );
}

function toPlain(value: unknown, depth: number): PlainTagValue | undefined {
  if (typeof value === 'string') return plainText(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value === 'boolean') return value;
  if (depth === MAX_DEPTH || ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return undefined;
  if (Array.isArray(value)) return plainList(value, depth);
  return typeof value === 'object' && value !== null ? plainObject(value, depth) : undefined;
}

/** The text up to a NUL, without padding. */
function plainText(value: string): string | undefined {
  const text = value.split('\0', 1)[0]?.trim().slice(0, MAX_TEXT_CHARACTERS).toWellFormed() ?? '';
  return text === '' ? undefined : text;
}

function plainList(values: unknown[], depth: number): PlainTagValue[] | undefined {
  if (values.length === 0 || values.length > MAX_LIST_ENTRIES) return undefined;
  const list = values.map((value) => toPlain(value, depth + 1));
  return list.every((value) => value !== undefined) ? list : undefined;
}

function plainObject(value: object, depth: number): PlainTagValue | undefined {
  const entries = Object.entries(value)
    .filter(([name]) => isSafeName(name))
    .map(([name, inner]) => [name, toPlain(inner, depth + 1)] as const)
    .filter((entry): entry is readonly [string, PlainTagValue] => entry[1] !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

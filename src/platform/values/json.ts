/** Whether a value from JSON is an object, and neither null nor a list. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The most levels of nested lists and objects. With more, recursive code could overflow its stack. */
export const MAX_JSON_DEPTH = 200;

/** The value of a JSON text; undefined for any other text, and for one that nests too deeply. */
export function parseJsonOrUndefined(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isWithinDepth(value, MAX_JSON_DEPTH) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isWithinDepth(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((entry) => isWithinDepth(entry, levels - 1));
}

/** The first `characters` of a value's JSON, or slightly more. The rest is not serialized. */
export function truncatedJson(value: unknown, characters: number): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, characters));
  if (Array.isArray(value)) return joinUpTo('[]', value, characters, truncatedJson);
  if (!isJsonObject(value)) return JSON.stringify(value) ?? String(value);
  return joinUpTo('{}', Object.keys(value), characters, (name, left) => {
    const start = `${truncatedJson(name, left)}:`;
    return start + truncatedJson(value[name], Math.max(0, left - start.length));
  });
}

/** Joins as many entries between two brackets as fit into the first `characters`. */
function joinUpTo<T>(
  [open, close]: string,
  entries: readonly T[],
  characters: number,
  startOf: (entry: T, characters: number) => string,
): string {
  let text = `${open}`;
  for (const [index, entry] of entries.entries()) {
    if (text.length >= characters) return text;
    text += `${index === 0 ? '' : ','}${startOf(entry, characters - text.length)}`;
  }
  return `${text}${close}`;
}

/** The distinct values in order. Two values are equal if their JSON is. */
export function distinctValues<T>(values: readonly T[]): T[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

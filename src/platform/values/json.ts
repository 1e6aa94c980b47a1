/** Whether a value from JSON is an object, and neither null nor a list. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value of a JSON text; undefined for any other text. */
export function parseJsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The first `characters` of a value's JSON, or slightly more. The rest is not serialized. */
export function truncatedJson(value: unknown, characters: number): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, characters));
  if (Array.isArray(value)) return joinedStart('[]', value, characters, truncatedJson);
  if (!isJsonObject(value)) return JSON.stringify(value) ?? String(value);
  return joinedStart('{}', Object.keys(value), characters, (name, left) => {
    const start = `${truncatedJson(name, left)}:`;
    return start + truncatedJson(value[name], Math.max(0, left - start.length));
  });
}

/** Joins as many entries between two brackets as fit into the first `characters`. */
function joinedStart<T>(
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

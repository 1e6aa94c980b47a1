/**
 * The placeholders of a template: `{{ name }}` is filled HTML-escaped, `{{{ name }}}` raw, and `a.b` reads nested
 * data. There are no helpers, no conditions and no loops: a template is text, and a row only ever fills its holes.
 * Braces around anything but a name are left as they are, so that a misspelt placeholder shows in the picture.
 */

/** One row of data: what POST /images/render takes as `data`. */
export type Row = Readonly<Record<string, unknown>>;

/** A variable's name, as it stands between the braces. */
export const VARIABLE_PATTERN = '^[A-Za-z0-9_.]+$';

/** Three braces are tried before two. Neither branch can match in two ways, so the time is linear. */
const PLACEHOLDER = /\{\{\{\s*([A-Za-z0-9_.]+)\s*\}\}\}|\{\{\s*([A-Za-z0-9_.]+)\s*\}\}/g;

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * A filled text would be longer than its bound. One long value in a template of many short placeholders would
 * otherwise grow to gigabytes.
 */
export class FilledTooLargeError extends Error {
  override readonly name = 'FilledTooLargeError';
}

/**
 * Fills every placeholder of `text` from a row. A name the row lacks, null, lists and objects fill nothing.
 * Throws FilledTooLargeError when the answer would pass `maxCharacters`.
 */
export function fillPlaceholders(text: string, row: Row, maxCharacters: number): string {
  let grown = text.length;
  return text.replace(PLACEHOLDER, (hole: string, rawName?: string, escapedName?: string) => {
    const value = valueText(read(row, rawName ?? escapedName ?? ''));
    const filling = rawName === undefined ? escapeHtml(value) : value;
    grown += filling.length - hole.length;
    if (grown > maxCharacters) throw new FilledTooLargeError(`The text is over ${maxCharacters} characters.`);
    return filling;
  });
}

/** Whether a row has nothing for a name to be filled with; a text that was sent empty is meant so. */
export function isEmpty(row: Row, name: string): boolean {
  const value = read(row, name);
  return value !== '' && valueText(value) === '';
}

/** The names in a template's placeholders, each once, in the order they first stand in `html` and then in `css`. */
export function variablesOf(html: string, css: string): string[] {
  const names = new Set<string>();
  for (const text of [html, css]) {
    for (const [, rawName, escapedName] of text.matchAll(PLACEHOLDER))
      names.add(rawName ?? escapedName ?? '');
  }
  return [...names];
}

/**
 * A text that stays text between tags and inside a quoted attribute: without these five characters no tag,
 * attribute or character reference can begin or end. It does not cover an attribute without quotes.
 */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}

/**
 * What the row itself brought, and nothing that a language adds: `constructor` and `__proto__` are no names of every
 * object, `length` is none of a list.
 */
function read(row: Row, name: string): unknown {
  let value: unknown = row;
  for (const key of name.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (!Object.prototype.propertyIsEnumerable.call(value, key)) return undefined;
    value = (value as Row)[key];
  }
  return value;
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

/**
 * The placeholders of a template: `{{ name }}` is filled HTML-escaped, `{{{ name }}}` unescaped, and `a.b` reads nested
 * data. There are no helpers, no conditions and no loops: a row only fills placeholders. Braces around anything but a
 * name are left unchanged, so that a misspelt placeholder is visible in the picture.
 */

/** One row of data, as in the parameter `data` of POST /images/render. */
export type TemplateRow = Readonly<Record<string, unknown>>;

/** The name of a variable between the braces. */
export const TEMPLATE_VARIABLE_PATTERN = '^[A-Za-z0-9_.]+$';

/**
 * Matches a placeholder. Three braces are tried before two. Each alternative can match in one way only, so matching
 * takes linear time.
 */
const PLACEHOLDER_PATTERN = /\{\{\{\s*([A-Za-z0-9_.]+)\s*\}\}\}|\{\{\s*([A-Za-z0-9_.]+)\s*\}\}/g;

const HTML_ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Thrown when the filled text would exceed its limit. One long value in a template with many placeholders could
 * otherwise need gigabytes.
 */
export class FilledTooLargeError extends Error {
  override readonly name = 'FilledTooLargeError';
}

/**
 * Fills every placeholder of `text` from a row. Missing names, null, lists and objects are filled with empty text.
 * @throws FilledTooLargeError when the result would exceed `maxCharacters`.
 */
export function fillPlaceholders(text: string, row: TemplateRow, maxCharacters: number): string {
  let filledCharacters = text.length;
  return text.replace(PLACEHOLDER_PATTERN, (placeholder: string, rawName?: string, escapedName?: string) => {
    const value = valueText(readValue(row, rawName ?? escapedName ?? ''));
    const filling = rawName === undefined ? escapeHtml(value) : value;
    filledCharacters += filling.length - placeholder.length;
    if (filledCharacters > maxCharacters)
      throw new FilledTooLargeError(`The text is over ${maxCharacters} characters.`);
    return filling;
  });
}

/** The names of a text's placeholders whose values HTML escaping changes. */
export function placeholdersWithEscapedValues(text: string, row: TemplateRow): string[] {
  return [...text.matchAll(PLACEHOLDER_PATTERN)].flatMap(([, , name]) => {
    if (name === undefined) return [];
    const value = valueText(readValue(row, name));
    return escapeHtml(value) === value ? [] : [name];
  });
}

/** Whether a row has no value for a name. Empty text is a value. */
export function isMissingInRow(row: TemplateRow, name: string): boolean {
  const value = readValue(row, name);
  return value !== '' && valueText(value) === '';
}

/** The distinct names in a template's placeholders, in the order of their first use in `html` and then in `css`. */
export function variableNamesIn(html: string, css: string): string[] {
  const names = new Set<string>();
  for (const text of [html, css]) {
    for (const [, rawName, escapedName] of text.matchAll(PLACEHOLDER_PATTERN))
      names.add(rawName ?? escapedName ?? '');
  }
  return [...names];
}

/**
 * Escapes text for use between tags and in a quoted attribute: without these five characters, no tag, attribute or
 * character reference can begin or end. An attribute without quotes is not covered.
 */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => HTML_ESCAPES[character] ?? '');
}

/**
 * The value of a name in a row. Inherited names such as `constructor` and `__proto__`, and the `length` of a list, have
 * no value.
 */
function readValue(row: TemplateRow, name: string): unknown {
  // Names without dots are read directly, because a page may have tens of thousands of them.
  if (!name.includes('.')) return ownValue(row, name);
  return name.split('.').reduce<unknown>(ownValue, row);
}

function ownValue(data: unknown, key: string): unknown {
  if (typeof data !== 'object' || data === null) return undefined;
  return Object.prototype.propertyIsEnumerable.call(data, key) ? (data as TemplateRow)[key] : undefined;
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

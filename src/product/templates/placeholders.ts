/**
 * The placeholders of a template. `{{ name }}` is replaced by the HTML-escaped value, `{{{ name }}}` by the unescaped
 * value, and `a.b` reads nested data. There are no helpers, conditions or loops. Braces around anything but a name stay
 * unchanged, so that a misspelt placeholder is visible in the picture.
 */

/** One row of data, as in the parameter `data` of POST /images/render. */
export type TemplateRow = Readonly<Record<string, unknown>>;

/** The name of a variable, as it may be written between the braces. */
export const TEMPLATE_VARIABLE_PATTERN = '^[A-Za-z0-9_.]+$';

/**
 * Matches a placeholder. Three braces are tried before two. Each alternative can match in only one way, so that
 * matching takes linear time.
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
 * Thrown when the filled text would exceed its limit. Without a limit, one long value in a template with many
 * placeholders could need gigabytes.
 */
export class FilledTooLargeError extends Error {
  override readonly name = 'FilledTooLargeError';
}

/**
 * Replaces every placeholder of `text` by its value in a row. A name that is missing, null, a list or an object becomes
 * empty text.
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

/** The names of the placeholders in a text whose values change when they are HTML-escaped. */
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

/** The names in a template's placeholders, without duplicates: first those of `html`, then those of `css`. */
export function variableNamesIn(html: string, css: string): string[] {
  const names = new Set<string>();
  for (const text of [html, css]) {
    for (const [, rawName, escapedName] of text.matchAll(PLACEHOLDER_PATTERN))
      names.add(rawName ?? escapedName ?? '');
  }
  return [...names];
}

/**
 * Escapes text for use between tags or in a quoted attribute. Without the escaped characters, the text can neither
 * begin nor end a tag, an attribute or a character reference. An attribute without quotes is not safe.
 */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => HTML_ESCAPES[character] ?? '');
}

/**
 * The value of a name in a row. Inherited names such as `constructor` and `__proto__` have no value, and `length` has
 * none in a list.
 */
function readValue(row: TemplateRow, name: string): unknown {
  // A name without dots is read directly, which is faster, because a page may have tens of thousands of names.
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

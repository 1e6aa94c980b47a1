import { invalidParam } from '../../platform/http/errors/errors.ts';
import { checkOf } from '../../platform/http/errors/validation.ts';
import { slugRefusal } from '../../platform/ids/slugs.ts';
import { VARIABLE_PATTERN, variablesOf } from './placeholders.ts';
import {
  MAX_CSS_BYTES,
  MAX_HTML_BYTES,
  MAX_VARIABLES,
  type NewTemplate,
  type TemplateChange,
  TemplateEntry,
} from './schema.ts';

/** The content of one version of a template. */
export interface TemplateContent {
  name: string;
  description: string;
  html: string;
  css: string;
  width: number;
  height: number;
  variables: string[];
}

const VARIABLE = new RegExp(VARIABLE_PATTERN);
const checkEntry = checkOf(TemplateEntry, 'entry');

/**
 * Checks a new template and fills in its defaults.
 * @throws ApiError invalid_param on the invalid field.
 */
export function newContent(sent: NewTemplate | TemplateEntry): TemplateContent {
  const { name, html, width, height, description = '', css = '' } = sent;
  const variables = () => sent.variables ?? variablesOf(html, css);
  return checked({ name, description, html, css, width, height }, variables);
}

/**
 * Checks one entry of an import, which may be any value, like a new template.
 * @throws ApiError invalid_param on the field that breaks a rule.
 */
export function importedContent(entry: unknown): TemplateContent {
  return newContent(checkEntry(entry));
}

/**
 * Merges a PUT into the current content: sent fields replace current ones. Variables that were not sent are derived
 * again when html or css changes, and stay otherwise.
 * @throws ApiError invalid_param on the field that breaks a rule.
 */
export function changedContent(current: TemplateContent, change: TemplateChange): TemplateContent {
  const { name, html, css, description, width, height } = { ...current, ...change };
  const sameText = html === current.html && css === current.css;
  const variables = () => change.variables ?? (sameText ? current.variables : variablesOf(html, css));
  return checked({ name, description, html, css, width, height }, variables);
}

/**
 * Refuses a reserved slug; the schema checks its form.
 * @throws ApiError invalid_param on slug.
 */
export function checkSlug(slug: string): void {
  const refusal = slugRefusal(slug, 'templates');
  if (refusal !== null) throw invalidParam('slug', refusal);
}

/**
 * Checks the rules that a schema cannot express.
 * @param variablesIn is called once the texts are within their limits.
 */
function checked(content: Omit<TemplateContent, 'variables'>, variablesIn: () => string[]): TemplateContent {
  if (content.name.trim() === '') throw invalidParam('name', 'name is missing or blank: send one.');
  checkSize('html', content.html, MAX_HTML_BYTES);
  checkSize('css', content.css, MAX_CSS_BYTES);
  const variables = variablesIn();
  checkVariables(variables);
  return { ...content, variables };
}

function checkSize(param: 'html' | 'css', text: string, limitBytes: number): void {
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes <= limitBytes) return;
  throw invalidParam(param, `${param} is ${sizeBytes} bytes of UTF-8: at most ${limitBytes} are allowed.`, {
    limit: limitBytes,
    received: sizeBytes,
  });
}

function checkVariables(names: readonly string[]): void {
  if (names.length > MAX_VARIABLES) {
    const message = `variables has ${names.length} names: at most ${MAX_VARIABLES} are allowed, including those of the placeholders.`;
    throw invalidParam('variables', message, { limit: MAX_VARIABLES, received: names.length });
  }
  const index = names.findIndex((name) => typeof name !== 'string' || !VARIABLE.test(name));
  if (index === -1) return;
  const message = `variables holds a name, at index ${index}, that is not text of letters, digits, "_" and "." alone.`;
  throw invalidParam('variables', message, { index });
}

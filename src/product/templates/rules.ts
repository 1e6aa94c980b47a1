import { invalidParam } from '../../platform/http/errors/errors.ts';
import { createCheck } from '../../platform/http/errors/validation.ts';
import { slugRefusal } from '../../platform/ids/slugs.ts';
import { isObject } from '../../platform/values/json.ts';
import type { RenderPage, TemplatePage } from './document.ts';
import { VARIABLE_PATTERN, variablesOf } from './placeholders.ts';
import {
  MAX_CSS_BYTES,
  MAX_HTML_BYTES,
  MAX_VARIABLES,
  type NewTemplate,
  type TemplateChange,
  TemplateEntry,
  type Variable,
} from './schema.ts';
import { nameOf } from './variables.ts';

/** The content of one version of a template. */
export interface TemplateContent {
  name: string;
  description: string;
  html: string;
  css: string;
  width: number;
  height: number;
  variables: Variable[];
}

const VARIABLE = new RegExp(VARIABLE_PATTERN);
const checkEntry = createCheck(TemplateEntry, 'entry');

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
 * Checks one entry of an import like a new template. The entry may be any value.
 * @throws ApiError invalid_param on the field that breaks a rule.
 */
export function importedContent(entry: unknown): TemplateContent {
  return newContent(checkEntry(entry));
}

/**
 * Merges a PUT into the current content: sent fields replace current ones. If variables were not sent and html or css
 * changes, they are derived again, but declared ones stay as they are.
 * @throws ApiError invalid_param on the field that breaks a rule.
 */
export function changedContent(current: TemplateContent, change: TemplateChange): TemplateContent {
  const { name, html, css, description, width, height } = { ...current, ...change };
  const sameText = html === current.html && css === current.css;
  const declared = new Map(current.variables.map((variable) => [nameOf(variable), variable]));
  const derived = () => variablesOf(html, css).map((variable) => declared.get(variable) ?? variable);
  const variables = () => change.variables ?? (sameText ? current.variables : derived());
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
 * The page of a call that sends its html instead of naming a template.
 * @throws ApiError invalid_param on html, css, width or height.
 */
export function checkPage({ html, css = '', width, height }: SentPage): RenderPage {
  checkSizes({ html, css });
  if (width === undefined || height === undefined) {
    const side = width === undefined ? 'width' : 'height';
    throw invalidParam(side, `${side} is missing: html needs the size of its picture.`);
  }
  return { html, css, width, height, variables: variablesOf(html, css) };
}

type SentPage = Pick<TemplateChange, 'css' | 'width' | 'height'> & Pick<TemplatePage, 'html'>;

/**
 * Checks the rules that a schema cannot express.
 * @param variablesIn is called once the texts are within their limits.
 */
function checked(
  content: Omit<TemplateContent, 'variables'>,
  variablesIn: () => Variable[],
): TemplateContent {
  if (content.name.trim() === '') throw invalidParam('name', 'name is missing or blank: send one.');
  checkSizes(content);
  const variables = variablesIn();
  checkVariables(variables);
  return { ...content, variables };
}

function checkSizes({ html, css }: TemplatePage): void {
  checkSize('html', html, MAX_HTML_BYTES);
  checkSize('css', css, MAX_CSS_BYTES);
}

function checkSize(param: 'html' | 'css', text: string, limitBytes: number): void {
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes <= limitBytes) return;
  throw invalidParam(param, `${param} is ${sizeBytes} bytes of UTF-8: at most ${limitBytes} are allowed.`, {
    limit: limitBytes,
    received: sizeBytes,
  });
}

function checkVariables(variables: readonly Variable[]): void {
  if (variables.length > MAX_VARIABLES) {
    const message = `variables has ${variables.length} names: at most ${MAX_VARIABLES} are allowed, including those of the placeholders.`;
    throw invalidParam('variables', message, { limit: MAX_VARIABLES, received: variables.length });
  }
  for (const [index, variable] of variables.entries()) {
    if (isObject(variable)) checkDeclaration(variable, index);
    const name: unknown = isObject(variable) ? variable.name : variable;
    if (typeof name === 'string' && VARIABLE.test(name)) continue;
    const message = `variables holds a name, at index ${index}, that is not text of letters, digits, "_" and "." alone.`;
    throw invalidParam('variables', message, { index });
  }
}

function checkDeclaration(
  { name: _, optional = false, ...others }: Record<string, unknown>,
  index: number,
): void {
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    const message = `variables holds ${JSON.stringify(unknown)}, at index ${index}, but a variable has name and optional alone.`;
    throw invalidParam('variables', message, { index, allowed: ['name', 'optional'] });
  }
  if (typeof optional === 'boolean') return;
  const message = `variables holds an optional, at index ${index}, that is neither true nor false.`;
  throw invalidParam('variables', message, { index });
}

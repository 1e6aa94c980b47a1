import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { createValidator } from '../../platform/http/errors/validation.ts';
import { isJsonObject } from '../../platform/values/json.ts';
import type { SizedTemplatePage, TemplateHtml } from './document.ts';
import { TEMPLATE_VARIABLE_PATTERN, variableNamesIn } from './placeholders.ts';
import {
  type DeclaredVariable,
  MAX_TEMPLATE_CSS_BYTES,
  MAX_TEMPLATE_HTML_BYTES,
  MAX_TEMPLATE_VARIABLES,
  type NewTemplate,
  type TemplateChange,
  type TemplateContent,
  TemplateEntry,
  variableNameOf,
} from './schema.ts';

const VARIABLE_PATTERN = new RegExp(TEMPLATE_VARIABLE_PATTERN);
/** The maximum length of a variable's name. It is limited because lists of templates contain the names. */
const MAX_VARIABLE_NAME_CHARACTERS = 200;
const validateEntry = createValidator(TemplateEntry, 'entry');

/**
 * Checks a new template and fills in its defaults.
 * @throws ApiError invalid_param on the field at fault.
 */
export function parseNewTemplate(sent: NewTemplate | TemplateEntry): TemplateContent {
  const { name, html, width, height, description = '', css = '' } = sent;
  const readVariables = () => sent.variables ?? variableNamesIn(html, css);
  return parseContent({ name, description, html, css, width, height }, readVariables);
}

/**
 * Checks one entry of an import like a new template, and returns its content. The entry may be any JSON value.
 * @throws ApiError invalid_param on the field at fault.
 */
export function parseImportedTemplate(entry: unknown): TemplateContent {
  return parseNewTemplate(validateEntry(entry));
}

/**
 * Applies a PUT to the current content: sent fields replace current ones. If html or css changes and no variables are
 * sent, the variables are read from the placeholders again; variables that are still used keep their declaration.
 * @throws ApiError invalid_param on the field at fault.
 */
export function applyTemplateChange(current: TemplateContent, change: TemplateChange): TemplateContent {
  const { name, html, css, description, width, height } = { ...current, ...change };
  const isSameText = html === current.html && css === current.css;
  const declared = new Map(current.variables.map((variable) => [variableNameOf(variable), variable]));
  const deriveVariables = () =>
    variableNamesIn(html, css).map((variable) => declared.get(variable) ?? variable);
  const readVariables = () => change.variables ?? (isSameText ? current.variables : deriveVariables());
  return parseContent({ name, description, html, css, width, height }, readVariables);
}

/**
 * Checks the page of a call that sends html instead of a template's name, and returns it. Such a page declares no
 * variables.
 * @throws ApiError invalid_param on html, css, width or height.
 */
export function parseSentPage({ html, css = '', width, height }: SentPage): SizedTemplatePage {
  checkTextSizes({ html, css });
  if (width === undefined || height === undefined) {
    const side = width === undefined ? 'width' : 'height';
    throw invalidParamError(side, `${side} is missing: html needs the size of its picture.`);
  }
  return { html, css, width, height, variables: [] };
}

type SentPage = Pick<TemplateChange, 'css' | 'width' | 'height'> & Pick<TemplateHtml, 'html'>;

/**
 * Checks the rules that a schema cannot express.
 * @param readVariables returns the variables of the texts. It is called after the sizes of the texts are checked.
 */
function parseContent(
  content: Omit<TemplateContent, 'variables'>,
  readVariables: () => DeclaredVariable[],
): TemplateContent {
  if (content.name.trim() === '') throw invalidParamError('name', 'name is missing or blank: send one.');
  checkTextSizes(content);
  const variables = readVariables();
  checkVariables(variables);
  return { ...content, variables };
}

function checkTextSizes({ html, css }: TemplateHtml): void {
  checkTextSize('html', html, MAX_TEMPLATE_HTML_BYTES);
  checkTextSize('css', css, MAX_TEMPLATE_CSS_BYTES);
}

function checkTextSize(param: 'html' | 'css', text: string, limitBytes: number): void {
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes <= limitBytes) return;
  const message = `${param} is ${sizeBytes} bytes of UTF-8: at most ${limitBytes} are allowed.`;
  throw invalidParamError(param, message, { limit: limitBytes, received: sizeBytes });
}

function checkVariables(variables: readonly DeclaredVariable[]): void {
  if (variables.length > MAX_TEMPLATE_VARIABLES) {
    const message = `variables has ${variables.length} names: at most ${MAX_TEMPLATE_VARIABLES} are allowed, including those of the placeholders.`;
    const details = { limit: MAX_TEMPLATE_VARIABLES, received: variables.length };
    throw invalidParamError('variables', message, details);
  }
  for (const [index, variable] of variables.entries()) {
    if (isJsonObject(variable)) checkVariableDeclaration(variable, index);
    const name: unknown = isJsonObject(variable) ? variable.name : variable;
    if (typeof name !== 'string' || !VARIABLE_PATTERN.test(name)) {
      const message = `The name at index ${index} of variables must be text of letters, digits, "_" and "." only.`;
      throw invalidParamError('variables', message, { index });
    }
    if (name.length <= MAX_VARIABLE_NAME_CHARACTERS) continue;
    const message = `The name at index ${index} of variables has ${name.length} characters: at most ${MAX_VARIABLE_NAME_CHARACTERS} are allowed, also in placeholders.`;
    throw invalidParamError('variables', message, { index, limit: MAX_VARIABLE_NAME_CHARACTERS });
  }
}

function checkVariableDeclaration(
  { name: _, optional = false, ...others }: Record<string, unknown>,
  index: number,
): void {
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    const message = `The entry at index ${index} of variables has ${JSON.stringify(unknown)}, but a variable has only name and optional.`;
    throw invalidParamError('variables', message, { index, allowed: ['name', 'optional'] });
  }
  if (typeof optional === 'boolean') return;
  const message = `The field optional at index ${index} of variables must be true or false.`;
  throw invalidParamError('variables', message, { index });
}

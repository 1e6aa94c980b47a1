import { readImageHeader } from '../../imaging/images/header/header.ts';
import { isJsonObject } from '../../platform/values/json.ts';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';
import { type ModelRequest, type RawModelAnswer, unavailableFault } from './provider.ts';

/** The checked result of a model. */
export type ModelAnswer =
  | { kind: 'image'; bytes: Uint8Array<ArrayBuffer>; contentType: string }
  | { kind: 'json'; output: Record<string, unknown> };

const PICTURES = ['png', 'jpeg', 'webp', 'avif', 'gif'];
const MAX_OUTPUT_BYTES = 256 * 1024;
const MAX_PROBLEM_CHARACTERS = 200;
const FENCE = '```';

/**
 * Checks an answer against the request. A wrong answer counts as a temporary fault, because the model may answer
 * correctly the next time.
 * @param problemOf describes how a value violates a schema.
 * @throws ProviderError unavailable: no picture, no object, or one that violates the schema.
 */
export async function checkModelAnswer(
  answer: RawModelAnswer,
  { op, schema = {} }: ModelRequest,
  problemOf: (schema: object, value: unknown) => Promise<string | undefined>,
): Promise<ModelAnswer> {
  if (op === 'analyze') {
    const output = parseOutput(answer);
    const problem = await problemOf(schema, output);
    if (problem === undefined) return { kind: 'json', output };
    const shortened = problem.slice(0, MAX_PROBLEM_CHARACTERS);
    throw unavailableFault(`The model's answer does not fit the schema: ${shortened}.`);
  }
  const header = answer.kind === 'image' ? readImageHeader(answer.bytes) : null;
  if (answer.kind !== 'image' || header === null || !PICTURES.includes(header.format))
    throw unavailableFault('The answer of the model is not an image.');
  return { kind: 'image', bytes: answer.bytes, contentType: header.mimeType };
}

function parseOutput(answer: RawModelAnswer): Record<string, unknown> {
  const value = answer.kind === 'json' ? answer.value : undefined;
  if (!isJsonObject(value)) throw unavailableFault('The answer of the model is not a JSON object.');
  if (Buffer.byteLength(JSON.stringify(value)) > MAX_OUTPUT_BYTES)
    throw unavailableFault(`The model answered more than ${MAX_OUTPUT_BYTES} bytes of JSON.`);
  return value;
}

/**
 * Parses the JSON that a model wrote. Small models put it between code fences, although they are told not to.
 * @throws ProviderError when the content is not JSON.
 */
export function parseModelJson(content: unknown): unknown {
  const text = typeof content === 'string' ? content.trim() : '';
  return parseBoundedJson(Buffer.from(withoutFences(text)), 'The answer of the model');
}

function withoutFences(text: string): string {
  if (text.length < 2 * FENCE.length || !text.startsWith(FENCE) || !text.endsWith(FENCE)) return text;
  return text.slice(FENCE.length, -FENCE.length).replace(/^json/, '');
}

/** The most levels of nested lists and objects. With more, recursive code could overflow its stack. */
const MAX_DEPTH = 100;
/** The most bytes outside of strings. A picture is one long string; the rest of an answer is far smaller. */
const MAX_SYNTAX_BYTES = MEGABYTE_BYTES;

const QUOTE = 0x22;
const [BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from('\\[]{}');

/**
 * Parses JSON from a provider or a model. It is measured first, because parsing takes much longer per value than per
 * byte of a string.
 * @param what begins the sentence of an error, such as "The answer of the provider".
 * @throws ProviderError unavailable when it is not JSON, is nested too deeply or has too many values.
 */
export function parseBoundedJson(json: Buffer, what: string): unknown {
  const problem = problemOf(json);
  if (problem !== undefined) throw unavailableFault(`${what} ${problem}.`);
  try {
    return JSON.parse(json.toString());
  } catch {
    throw unavailableFault(`${what} is not JSON.`);
  }
}

function problemOf(json: Buffer): string | undefined {
  let depth = 0;
  let syntaxBytes = 0;
  let isInText = false;
  for (let at = 0; at < json.length; at += 1) {
    syntaxBytes += 1;
    if (syntaxBytes > MAX_SYNTAX_BYTES)
      return `has more than ${MAX_SYNTAX_BYTES} bytes of JSON outside of its texts`;
    if (isInText) {
      at = json.indexOf(QUOTE, at);
      if (at === -1) return undefined;
      isInText = isEscaped(json, at);
      continue;
    }
    const byte = json[at];
    if (byte === QUOTE) isInText = true;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth += 1;
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
    if (depth > MAX_DEPTH) return `has more than ${MAX_DEPTH} lists and objects within each other`;
  }
  return undefined;
}

/** Whether a byte is escaped, that is preceded by an odd number of backslashes. */
function isEscaped(json: Buffer, at: number): boolean {
  let first = at;
  while (json[first - 1] === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}

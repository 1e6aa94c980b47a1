import { readHeader } from '../../imaging/images/header/header.ts';
import { isObject } from '../../platform/values/json.ts';
import { readJson } from './json.ts';
import { type ModelRequest, type RawAnswer, unavailable } from './provider.ts';

/** The checked result of a model. */
export type ModelAnswer =
  | { kind: 'image'; bytes: Uint8Array<ArrayBuffer>; contentType: string }
  | { kind: 'json'; output: Record<string, unknown> };

const PICTURES = ['png', 'jpeg', 'webp', 'avif', 'gif'];
const MAX_OUTPUT_BYTES = 256 * 1024;
const MAX_PROBLEM_CHARACTERS = 200;
const FENCE = '```';

/**
 * Checks an answer against the request. A wrong answer is a fault that may pass, because the model may answer correctly
 * the next time.
 * @param problemOf describes how a value violates a schema.
 * @throws ProviderFault unavailable: no picture, no object, or one that violates the schema.
 */
export async function checkedAnswer(
  answer: RawAnswer,
  { op, schema = {} }: ModelRequest,
  problemOf: (schema: object, value: unknown) => Promise<string | undefined>,
): Promise<ModelAnswer> {
  if (op === 'analyze') {
    const output = parseOutput(answer);
    const problem = await problemOf(schema, output);
    if (problem === undefined) return { kind: 'json', output };
    const shortened = problem.slice(0, MAX_PROBLEM_CHARACTERS);
    throw unavailable(`The model's answer does not fit the schema: ${shortened}.`);
  }
  const header = answer.kind === 'image' ? readHeader(answer.bytes) : null;
  if (answer.kind !== 'image' || header === null || !PICTURES.includes(header.format))
    throw unavailable('The answer of the model is not an image.');
  return { kind: 'image', bytes: answer.bytes, contentType: header.mimeType };
}

function parseOutput(answer: RawAnswer): Record<string, unknown> {
  const value = answer.kind === 'json' ? answer.value : undefined;
  if (!isObject(value)) throw unavailable('The answer of the model is not a JSON object.');
  if (Buffer.byteLength(JSON.stringify(value)) > MAX_OUTPUT_BYTES)
    throw unavailable(`The model answered more than ${MAX_OUTPUT_BYTES} bytes of JSON.`);
  return value;
}

/**
 * Parses the JSON that a model wrote. Small models put it between code fences, although they are asked not to.
 * @throws ProviderFault when the content is not JSON.
 */
export function jsonIn(content: unknown): unknown {
  const text = typeof content === 'string' ? content.trim() : '';
  return readJson(Buffer.from(withoutFences(text)), 'The answer of the model');
}

function withoutFences(text: string): string {
  if (text.length < 2 * FENCE.length || !text.startsWith(FENCE) || !text.endsWith(FENCE)) return text;
  return text.slice(FENCE.length, -FENCE.length).replace(/^json/, '');
}

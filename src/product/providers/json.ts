import { MEGABYTE } from '../../platform/values/units.ts';
import { unavailable } from './provider.ts';

/** The most levels of nested lists and objects, because recursive code could exceed its stack. */
const MAX_DEPTH = 100;
/** The most bytes outside of strings. A picture is one long string; the rest of an answer is far smaller. */
const MAX_SYNTAX_BYTES = MEGABYTE;

const QUOTE = 0x22;
const [BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from('\\[]{}');

/**
 * Parses JSON from a provider or a model after measuring it, because parsing takes much longer per value than per byte
 * of a string.
 * @param what begins the sentence of a refusal, such as "The answer of the provider".
 * @throws ProviderFault unavailable when it is not JSON, is nested too deeply or has too many values.
 */
export function readJson(json: Buffer, what: string): unknown {
  const problem = problemOf(json);
  if (problem !== undefined) throw unavailable(`${what} ${problem}.`);
  try {
    return JSON.parse(json.toString());
  } catch {
    throw unavailable(`${what} is not JSON.`);
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

/** Whether a byte is escaped, which is the case after an odd number of backslashes. */
function isEscaped(json: Buffer, at: number): boolean {
  let first = at;
  while (json[first - 1] === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}

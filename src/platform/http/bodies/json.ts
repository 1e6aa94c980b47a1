import { isUtf8 } from 'node:buffer';
import { randomInt } from 'node:crypto';
import { MEGABYTE } from '../../names/units.ts';
import { ApiError, invalidParam } from '../errors.ts';

/** Largest JSON body, in bytes. */
export const JSON_BODY_LIMIT_BYTES = 8 * MEGABYTE;
/** Lists and objects within each other; more is for programs that count on the reader's stack. */
const DEEPEST_JSON = 200;
/**
 * From here on a body is counted before it is parsed: a smaller one is parsed within a few milliseconds whatever it
 * holds.
 */
export const LARGE_JSON_BYTES = 256 * 1024;
/**
 * Names and values of a large body, lists and objects included: this many are parsed in 50 ms. A row of two fields has
 * five.
 */
const MOST_VALUES = 1_000_000;
/** Different names of a large body. Each costs the parser 600 ns, ten times a value: 500,000 took it 0.3 s. */
const MOST_NAMES = 20_000;

const written = (count: number) => count.toLocaleString('en');

/** The bounds of a JSON body, for the pages that clients read. */
export const JSON_BOUNDS = `A JSON body has at most ${JSON_BODY_LIMIT_BYTES / 1024 / 1024} MB, ${written(MOST_VALUES)} names and values (${written(MOST_VALUES / 5)} rows of two fields) and ${written(MOST_NAMES)} different names: send more in several calls. Its lists and objects nest at most ${DEEPEST_JSON} deep.`;

/**
 * JSON text as a value.
 * @throws ApiError invalid_param on `body` when empty, malformed, nested too deeply or no Unicode; payload_too_large
 *   for a large one of
 *   too many values.
 */
export function parseJson(raw: Buffer): unknown {
  checkJson(raw);
  return parseChecked(raw);
}

/**
 * Refuses, before it is parsed, a body that is costly to parse.
 * @throws ApiError as `parseJson` does, but for what only the parser sees.
 */
export function checkJson(raw: Buffer): void {
  if (!isUtf8(raw)) throw badBody('The body is not valid UTF-8: encode its text so.');
  const { deepest, values, names } = sizesOf(raw, raw.length > LARGE_JSON_BYTES);
  if (deepest > DEEPEST_JSON) {
    const message = `The body has more than ${DEEPEST_JSON} lists and objects within each other: flatten it.`;
    throw invalidParam('body', message, { limit: DEEPEST_JSON });
  }
  if (values > MOST_VALUES) throw tooMuch('names and values', MOST_VALUES);
  if (names > MOST_NAMES) throw tooMuch('different names', MOST_NAMES);
}

/** Parses what `checkJson` let through. */
export function parseChecked(raw: Buffer): unknown {
  const text = withoutMark(raw.toString('utf8'));
  if (text.trim() === '') throw emptyBody();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = (error as Error).message.replace(/, ?(".*"|\.\.\..*) is not valid JSON$/s, '');
    const remedy = /^\s*[[{\s]*'/.test(text) ? ' JSON takes double quotes.' : '';
    throw badBody(`The body is not valid JSON: ${reason}.${remedy}`);
  }
  if (TRAPS.test(text)) refuseTraps(value);
  return value;
}

/** Some shells and editors begin every text with a byte order mark, which is no JSON. */
function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

/** A trap cannot be written without one of these: its name, or an escape. */
const TRAPS = /__proto__|\\u/;

/**
 * `__proto__` as a key is an own property for JSON.parse, and a prototype for code that copies it. Half of a surrogate
 * pair is no character: it cannot be stored as UTF-8, nor stand in a URL.
 */
function refuseTraps(value: unknown): void {
  if (typeof value === 'string') refuseHalfPairs(value);
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const entry of value) refuseTraps(entry);
    return;
  }
  for (const [key, entry] of Object.entries(value)) {
    if (key === '__proto__')
      throw badBody('The body has a key "__proto__", which is not allowed: rename it.');
    refuseHalfPairs(key);
    refuseTraps(entry);
  }
}

function refuseHalfPairs(text: string): void {
  if (!text.isWellFormed()) {
    throw badBody(
      'The body holds half of a surrogate pair (\\ud800 to \\udfff), which is no character: leave it out.',
    );
  }
}

interface JsonSizes {
  /** Lists and objects within each other. */
  deepest: number;
  /** Names and values, lists and objects included, as commas, colons and brackets show them. */
  values: number;
  /** Different names, a few per cent too few of many; 0 where names are not counted. */
  names: number;
}

/**
 * Which hashes of names were met: FNV-1a from a start that nobody outside knows, or names could be chosen to share one.
 */
const met = new Uint8Array(2 ** 17);
const HASH_START = randomInt(2 ** 31);
const FNV_PRIME = 16_777_619;

/** The upper 17 bits of a hash, once all of its bits bear on them. */
function slotOf(hash: number): number {
  return Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) >>> 15;
}

/** Sizes of JSON text in one pass over its bytes, judged by what stands outside of strings. */
function sizesOf(json: Buffer, countsNames: boolean): JsonSizes {
  const sizes: JsonSizes = { deepest: 0, values: 0, names: 0 };
  if (countsNames) met.fill(0);
  let depth = 0;
  let isInString = false;
  let hash = 0;
  for (let index = 0; index < json.length; index += 1) {
    const byte = json[index] as number;
    if (isInString) {
      if (byte === BACKSLASH) index += 1;
      else if (byte === QUOTE) isInString = false;
      if (countsNames) hash = Math.imul(hash ^ (json[index] as number), FNV_PRIME);
    } else if (byte === QUOTE) {
      isInString = true;
      hash = HASH_START;
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      if (depth > sizes.deepest) sizes.deepest = depth;
      sizes.values += 1;
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
    else if (byte === COMMA) sizes.values += 1;
    else if (byte === COLON) {
      sizes.values += 1;
      const slot = slotOf(hash);
      if (countsNames && met[slot] === 0) {
        met[slot] = 1;
        sizes.names += 1;
      }
    }
  }
  return sizes;
}

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT, COMMA, COLON] =
  Buffer.from('"\\[]{},:');

function tooMuch(what: string, limit: number): ApiError {
  return new ApiError(
    'payload_too_large',
    `The body has more than ${limit} ${what}: send it in several calls.`,
    { param: 'body', details: { limit } },
  );
}

function badBody(message: string): ApiError {
  return invalidParam('body', message);
}

export function emptyBody(schema?: unknown): ApiError {
  const [example] = (schema as { examples?: unknown[] } | undefined)?.examples ?? [];
  const suchAs = example === undefined ? '' : `, such as ${JSON.stringify(example)}`;
  return badBody(`The body is empty: send a JSON document${suchAs}.`);
}

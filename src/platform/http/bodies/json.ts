import { isUtf8 } from 'node:buffer';
import { randomInt } from 'node:crypto';
import { MAX_JSON_DEPTH, parseJsonOrUndefined } from '../../values/json.ts';
import { MEGABYTE_BYTES } from '../../values/units.ts';
import { ApiError, type SentField, sentFieldAt } from '../errors/errors.ts';

/** The most bytes of a JSON body. */
export const MAX_JSON_BODY_BYTES = 8 * MEGABYTE_BYTES;
/**
 * The values of a body of more than this size are counted before it is parsed. A smaller body is parsed within a few
 * milliseconds.
 */
export const LARGE_JSON_BODY_BYTES = 256 * 1024;
/**
 * The most names and values of a large body. A list or an object counts as a value too, so an object with two fields
 * counts as five. Parsing this many takes 50 ms.
 */
const MAX_JSON_NAMES_AND_VALUES = 1_000_000;
/** The most distinct names of a large body. Each name costs the parser 600 ns, ten times as much as a value. */
const MAX_DISTINCT_JSON_NAMES = 20_000;

const formatCount = (count: number) => count.toLocaleString('en');

/** The limits of a JSON body, as text for the documentation. */
export const JSON_BOUNDS_TEXT = `A JSON body has at most ${MAX_JSON_BODY_BYTES / 1024 / 1024} MB, ${formatCount(MAX_JSON_NAMES_AND_VALUES)} names and values (${formatCount(MAX_JSON_NAMES_AND_VALUES / 5)} rows of two fields) and ${formatCount(MAX_DISTINCT_JSON_NAMES)} different names: send more in several calls. Its lists and objects nest at most ${MAX_JSON_DEPTH} deep.`;

/** The field that errors name if the whole body is the JSON text. */
const BODY_FIELD: SentField = { ...sentFieldAt('body'), name: 'The body' };

/**
 * Parses a JSON text.
 * @param sent the field that has the text: the body, or one of its parts.
 * @throws ApiError invalid_param if it is empty, malformed, nested too deeply or not valid Unicode; payload_too_large
 * for a large text with too many values.
 */
export function parseJson(raw: Buffer, sent = BODY_FIELD): unknown {
  const checking = checkJsonInSlices(raw, sent);
  while (checking.next().done !== true);
  const text = withoutByteOrderMark(raw.toString('utf8'));
  if (text.trim() === '') throw emptyBodyError(undefined, sent);
  return parseJsonText(text, undefined, sent);
}

/** Number of bytes that are counted before the event loop serves other calls. */
const CHECK_SLICE_BYTES = 512 * 1024;

/**
 * Refuses a body that is too costly to parse, before it is parsed. It yields after each slice of bytes.
 * @throws ApiError as `parseJson`, except for errors that only the parser finds.
 */
export function* checkJsonInSlices(raw: Buffer, sent = BODY_FIELD): Generator<void, void> {
  if (!isUtf8(raw))
    throw sent.refuse(
      `${sent.name} is not valid UTF-8: encode its text so, or send a file with its own Content-Type.`,
    );
  const countUpTo = createJsonCounter(raw, raw.length > LARGE_JSON_BODY_BYTES);
  for (let to = CHECK_SLICE_BYTES; ; to += CHECK_SLICE_BYTES) {
    const { deepest, values, names } = countUpTo(Math.min(to, raw.length));
    if (deepest > MAX_JSON_DEPTH) {
      const message = `${sent.name} has more than ${MAX_JSON_DEPTH} lists and objects within each other: flatten it.`;
      throw sent.refuse(message, { limit: MAX_JSON_DEPTH });
    }
    if (values > MAX_JSON_NAMES_AND_VALUES)
      throw tooManyError('names and values', MAX_JSON_NAMES_AND_VALUES, sent);
    if (names > MAX_DISTINCT_JSON_NAMES) throw tooManyError('different names', MAX_DISTINCT_JSON_NAMES, sent);
    if (to >= raw.length) return;
    yield;
  }
}

/**
 * Parses JSON text within the limits.
 * @param startsAt the byte offset of the text in the body, if the text is only a part of the body.
 * @throws ApiError invalid_param for malformed text, and for values that are not allowed in a call.
 */
export function parseJsonText(text: string, startsAt?: number, sent = BODY_FIELD): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const { message } = error as Error;
    const remedy = /^[[{\s]*'/.test(text) ? ' JSON takes double quotes.' : '';
    const meant = startsAt === undefined ? looseJsonValue(text) : undefined;
    throw malformedJsonError(
      startsAt === undefined ? message : withBodyPosition(message, text, startsAt),
      { remedy, meant },
      sent,
    );
  }
  if (FORBIDDEN_VALUE_PATTERN.test(text)) refuseForbiddenValues(value, sent);
  return value;
}

/**
 * Replaces the position in a message of JSON.parse, which counts from the beginning of the piece, by the position in
 * the body.
 */
function withBodyPosition(message: string, text: string, startsAt: number): string {
  return message.replace(/ in JSON at position (\d+).*$/s, (_match, position: string) => {
    const at = startsAt + Buffer.byteLength(text.slice(0, Number(position)));
    return ` in JSON at byte ${at}`;
  });
}

/**
 * The error for malformed JSON.
 * @param message the message of JSON.parse, or one of the same form.
 * @param hints the end of the message, and the value that was probably meant.
 */
export function malformedJsonError(
  message: string,
  { remedy = '', meant }: { remedy?: string; meant?: unknown } = {},
  sent = BODY_FIELD,
): ApiError {
  const reason = message.replace(/, ?(".*"|\.\.\..*) is not valid JSON$/s, '');
  const details = meant === undefined ? undefined : { instead: [{ [sent.param]: meant }] };
  return sent.refuse(`${sent.name} is not valid JSON: ${reason}.${remedy}`, details);
}

/** The longest text that is corrected when it is nearly JSON. */
const MAX_LOOSE_JSON_CHARACTERS = 2_000;
/**
 * Matches the tokens of text that is nearly JSON: strings, comments, commas before a closing bracket, and words without
 * quotes.
 */
const LOOSE_JSON_TOKEN_PATTERN =
  /("(?:[^"\\]|\\.)*")|'((?:[^'\\]|\\.)*)'|(\/\/[^\n]*|\/\*[\s\S]*?\*\/|,(?=\s*[}\]]))|([A-Za-z_$][\w$]*)(\s*:)?/g;
const LOOSE_JSON_WORDS: Readonly<Record<string, string>> = {
  True: 'true',
  False: 'false',
  None: 'null',
  undefined: 'null',
};

/**
 * The value of a text that is JSON except for commas before a closing bracket, comments, single quotes, and names
 * without quotes; undefined for any other text.
 */
function looseJsonValue(text: string): unknown {
  if (text.length > MAX_LOOSE_JSON_CHARACTERS) return undefined;
  const strictText = text.replace(
    LOOSE_JSON_TOKEN_PATTERN,
    (part, quoted, single, dropped, word, colon = '') => {
      if (quoted !== undefined) return part;
      if (single !== undefined) return JSON.stringify(single.replaceAll("\\'", "'"));
      if (dropped !== undefined) return '';
      return colon === '' ? (LOOSE_JSON_WORDS[word] ?? word) : `${JSON.stringify(word)}${colon}`;
    },
  );
  return strictText === text ? undefined : parseJsonOrUndefined(strictText);
}

/** Removes a byte order mark. Some shells and editors write one, but JSON does not allow it. */
function withoutByteOrderMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

/**
 * Matches `__proto__`, and escapes, which can spell that name or half of a surrogate pair. Text without a match has no
 * forbidden value.
 */
const FORBIDDEN_VALUE_PATTERN = /__proto__|\\u/;

/**
 * Refuses values that are not allowed. `__proto__` is an own property after JSON.parse, but sets the prototype in code
 * that copies it. Half of a surrogate pair is not a character, and cannot be stored as UTF-8 or used in a URL.
 */
function refuseForbiddenValues(value: unknown, sent: SentField): void {
  if (typeof value === 'string') refuseLoneSurrogates(value, sent);
  else if (Array.isArray(value)) for (const entry of value) refuseForbiddenValues(entry, sent);
  else if (typeof value === 'object' && value !== null) {
    for (const [key, entry] of Object.entries(value)) {
      if (key === '__proto__')
        throw sent.refuse(`${sent.name} has a key "__proto__", which is not allowed: rename it.`);
      refuseLoneSurrogates(key, sent);
      refuseForbiddenValues(entry, sent);
    }
  }
}

function refuseLoneSurrogates(text: string, { name, refuse }: SentField): void {
  if (text.isWellFormed()) return;
  throw refuse(
    `${name} holds half of a surrogate pair (\\ud800 to \\udfff), which is not a character: leave it out.`,
  );
}

function tooManyError(what: string, limit: number, { name, param }: SentField): ApiError {
  const message = `${name} has more than ${limit} ${what}: send it in several calls.`;
  return new ApiError('payload_too_large', message, { param, details: { limit } });
}

export function emptyBodyError(schema?: unknown, { name, refuse } = BODY_FIELD): ApiError {
  const [example] = (schema as { examples?: unknown[] } | undefined)?.examples ?? [];
  const examplePhrase = example === undefined ? '' : `, such as ${JSON.stringify(example)}`;
  return refuse(`${name} is empty: send a JSON document${examplePhrase}.`);
}

/** How costly a JSON text is to parse. */
interface JsonComplexity {
  /** The most levels of nested lists and objects. */
  deepest: number;
  /** The number of names and values, including lists and objects, counted from commas, colons and brackets. */
  values: number;
  /** The number of different names, a few per cent too low for many names; 0 if names are not counted. */
  names: number;
}

/**
 * The start value of the FNV-1a hashes of names. It is secret, because a caller could otherwise choose names with equal
 * hashes, which would be counted as one name.
 */
const NAME_HASH_SEED = randomInt(2 ** 31);
const FNV_PRIME = 16_777_619;

/** The slot of a hash: its upper 17 bits after mixing, which depend on all of its bits. */
function hashSlotOf(hash: number): number {
  return Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) >>> 15;
}

export const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT, COMMA, COLON] =
  Buffer.from('"\\[]{},:');

/**
 * Measures JSON text in one pass over its bytes, which can be interrupted: its values, its depth and, if `countsNames`,
 * about how many different names it has. Names with the same hash count once.
 * @returns a function that continues from its last end, and returns the counts of everything before `end`.
 */
function createJsonCounter(json: Buffer, countsNames: boolean): (end: number) => Readonly<JsonComplexity> {
  const sizes: JsonComplexity = { deepest: 0, values: 0, names: 0 };
  const seen = new Uint8Array(countsNames ? 2 ** 17 : 0);
  let next = 0;
  let depth = 0;
  let isInString = false;
  let hash = 0;

  function countName(): void {
    const slot = hashSlotOf(hash);
    if (seen[slot] !== 0) return;
    seen[slot] = 1;
    sizes.names += 1;
  }

  return (end) => {
    let index = next;
    for (; index < end; index += 1) {
      const byte = json[index] as number;
      if (isInString) {
        if (byte === BACKSLASH) index += 1;
        else if (byte === QUOTE) isInString = false;
        if (countsNames) hash = Math.imul(hash ^ (json[index] as number), FNV_PRIME);
      } else if (byte === QUOTE) {
        isInString = true;
        hash = NAME_HASH_SEED;
      } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
        depth += 1;
        if (depth > sizes.deepest) sizes.deepest = depth;
        sizes.values += 1;
      } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
      else if (byte === COMMA) sizes.values += 1;
      else if (byte === COLON) {
        sizes.values += 1;
        if (countsNames) countName();
      }
    }
    next = index;
    return sizes;
  };
}

import { isUtf8 } from 'node:buffer';
import { MEGABYTE } from '../../values/units.ts';
import { ApiError } from '../errors/errors.ts';
import { type SentField, sentAs } from '../errors/sent-field.ts';
import { createJsonCount } from './json-count.ts';

/** Largest JSON body, in bytes. */
export const MAX_JSON_BODY_BYTES = 8 * MEGABYTE;
/** The most levels of nested lists and objects, because recursive code could exceed its stack. */
const MAX_JSON_DEPTH = 200;
/** From this size on, a body is counted before it is parsed; any smaller body is parsed within a few milliseconds. */
export const LARGE_JSON_BYTES = 256 * 1024;
/**
 * The most names and values of a large body. Every list and object counts as a value too, so a row with two fields
 * counts as five. Parsing this many takes 50 ms.
 */
const MAX_VALUES = 1_000_000;
/** The most different names of a large body. Each costs the parser 600 ns, ten times as much as a value. */
const MAX_NAMES = 20_000;

const formatted = (count: number) => count.toLocaleString('en');

/** The bounds of a JSON body, for the pages that clients read. */
export const JSON_BOUNDS = `A JSON body has at most ${MAX_JSON_BODY_BYTES / 1024 / 1024} MB, ${formatted(MAX_VALUES)} names and values (${formatted(MAX_VALUES / 5)} rows of two fields) and ${formatted(MAX_NAMES)} different names: send more in several calls. Its lists and objects nest at most ${MAX_JSON_DEPTH} deep.`;

/** A body of JSON, as refusals name it. */
const BODY: SentField = { ...sentAs('body'), name: 'The body' };

/**
 * Parses a JSON text.
 * @param sent the field that has the text: the body, or one of its parts.
 * @throws ApiError invalid_param when empty, malformed, nested too deeply or no Unicode; payload_too_large for a large
 *   one of too many values.
 */
export function parseJson(raw: Buffer, sent = BODY): unknown {
  const checking = checkInSlices(raw, sent);
  while (checking.next().done !== true);
  const text = withoutByteOrderMark(raw.toString('utf8'));
  if (text.trim() === '') throw emptyBody(undefined, sent);
  return parseText(text, undefined, sent);
}

/** The bytes that are counted before the event loop serves other calls. */
const COUNTED_SLICE_BYTES = 512 * 1024;

/**
 * Refuses, before it is parsed, a body that is costly to parse. It yields when it has counted a slice.
 * @throws ApiError as `parseJson`, except for errors that only the parser finds.
 */
export function* checkInSlices(raw: Buffer, sent = BODY): Generator<void, void> {
  if (!isUtf8(raw)) throw sent.refuse(`${sent.name} is not valid UTF-8: encode its text so.`);
  const countUpTo = createJsonCount(raw, raw.length > LARGE_JSON_BYTES);
  for (let to = COUNTED_SLICE_BYTES; ; to += COUNTED_SLICE_BYTES) {
    const { deepest, values, names } = countUpTo(Math.min(to, raw.length));
    if (deepest > MAX_JSON_DEPTH) {
      const message = `${sent.name} has more than ${MAX_JSON_DEPTH} lists and objects within each other: flatten it.`;
      throw sent.refuse(message, { limit: MAX_JSON_DEPTH });
    }
    if (values > MAX_VALUES) throw tooMuch('names and values', MAX_VALUES, sent);
    if (names > MAX_NAMES) throw tooMuch('different names', MAX_NAMES, sent);
    if (to >= raw.length) return;
    yield;
  }
}

/**
 * Parses JSON text within the bounds.
 * @param startsAt the offset of a piece in its body, in bytes.
 * @throws ApiError invalid_param for malformed text, and for values that are not allowed in a call.
 */
export function parseText(text: string, startsAt?: number, sent = BODY): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const { message } = error as Error;
    const remedy = /^\s*[[{\s]*'/.test(text) ? ' JSON takes double quotes.' : '';
    throw malformed(startsAt === undefined ? message : inBody(message, text, startsAt), remedy, sent);
  }
  if (POSSIBLY_FORBIDDEN.test(text)) refuseForbidden(value, sent);
  return value;
}

/** Converts a position in a piece to one in the body. */
function inBody(message: string, text: string, startsAt: number): string {
  return message.replace(/ in JSON at position (\d+).*$/s, (_match, position: string) => {
    const at = startsAt + Buffer.byteLength(text.slice(0, Number(position)));
    return ` in JSON at byte ${at}`;
  });
}

/** @param message the message of JSON.parse, or one of the same form. */
export function malformed(message: string, remedy = '', sent = BODY): ApiError {
  const reason = message.replace(/, ?(".*"|\.\.\..*) is not valid JSON$/s, '');
  return sent.refuse(`${sent.name} is not valid JSON: ${reason}.${remedy}`);
}

/** Some shells and editors put a byte order mark before every text, which JSON does not allow. */
function withoutByteOrderMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

/** Texts without any of these contain no forbidden value: the forbidden name, and the escapes that can spell one. */
const POSSIBLY_FORBIDDEN = /__proto__|\\u/;

/**
 * `__proto__` as a key is an own property after JSON.parse, but sets the prototype in code that copies it. Half of a
 * surrogate pair is not a character, and cannot be stored as UTF-8 or used in a URL.
 */
function refuseForbidden(value: unknown, sent: SentField): void {
  if (typeof value === 'string') refuseHalfPairs(value, sent);
  else if (Array.isArray(value)) for (const entry of value) refuseForbidden(entry, sent);
  else if (typeof value === 'object' && value !== null) {
    for (const [key, entry] of Object.entries(value)) {
      if (key === '__proto__')
        throw sent.refuse(`${sent.name} has a key "__proto__", which is not allowed: rename it.`);
      refuseHalfPairs(key, sent);
      refuseForbidden(entry, sent);
    }
  }
}

function refuseHalfPairs(text: string, { name, refuse }: SentField): void {
  if (text.isWellFormed()) return;
  throw refuse(
    `${name} holds half of a surrogate pair (\\ud800 to \\udfff), which is not a character: leave it out.`,
  );
}

function tooMuch(what: string, limit: number, { name, param }: SentField): ApiError {
  const message = `${name} has more than ${limit} ${what}: send it in several calls.`;
  return new ApiError('payload_too_large', message, { param, details: { limit } });
}

export function emptyBody(schema?: unknown, { name, refuse } = BODY): ApiError {
  const [example] = (schema as { examples?: unknown[] } | undefined)?.examples ?? [];
  const suchAs = example === undefined ? '' : `, such as ${JSON.stringify(example)}`;
  return refuse(`${name} is empty: send a JSON document${suchAs}.`);
}

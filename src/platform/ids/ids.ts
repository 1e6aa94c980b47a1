import { hash, randomBytes } from 'node:crypto';
import { likelyNames, meantWordHint } from './nearest.ts';

/** What each prefix of an id stands for, with its article for messages. */
const NOUN_BY_PREFIX = {
  acc: 'an account',
  key: 'an API key',
  ses: 'a session',
  ast: 'an asset',
  job: 'a job',
  pre: 'a preset',
  tpl: 'a template',
  whe: 'a webhook endpoint',
  whd: 'a webhook delivery',
  evt: 'an event',
  fbk: 'a feedback report',
  led: 'a ledger row',
  run: 'a run',
  sgk: 'a signing key',
} as const;

type IdPrefix = keyof typeof NOUN_BY_PREFIX;

const BASE62_DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const TIME_CHARACTERS = 8;
const RANDOM_CHARACTERS = 16;
/** The latest time that an id can contain, in the year 8888. */
const MAX_ID_TIME_MS = 62 ** TIME_CHARACTERS - 1;

/**
 * An id such as `tpl_0VyQ3k1Zb7…`: 8 characters of creation time in milliseconds (base 62, so that ids sort
 * by creation in ASCII order) and 16 random ones (95 bits).
 */
export function newId(prefix: IdPrefix, nowMs: number = Date.now()): string {
  return `${prefix}_${toBase62(nowMs, TIME_CHARACTERS)}${randomText(RANDOM_CHARACTERS)}`;
}

/** The smallest id that can be made at this time. Only ids of earlier times are smaller. */
export function smallestIdAt(prefix: IdPrefix, atMs: number): string {
  return `${prefix}_${toBase62(Math.min(Math.max(0, atMs), MAX_ID_TIME_MS), TIME_CHARACTERS)}`;
}

/**
 * An id in the same form whose last part is derived from a seed: equal seeds give equal ids. Eight characters are
 * slightly more likely, because 62 does not divide the range of a byte evenly; that costs less than a bit of entropy.
 */
export function derivedId(prefix: IdPrefix, nowMs: number, seed: string): string {
  const digest = hash('sha256', seed, 'buffer').subarray(0, RANDOM_CHARACTERS);
  const text = Array.from(digest, (byte) => BASE62_DIGITS[byte % 62]).join('');
  return `${prefix}_${toBase62(nowMs, TIME_CHARACTERS)}${text}`;
}

/** `length` characters of [0-9A-Za-z], uniformly random. Bytes above the last multiple of 62 are drawn again. */
export function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < 248 && text.length < length) text += BASE62_DIGITS[byte % 62];
    }
  }
  return text;
}

function toBase62(value: number, width: number): string {
  let text = '';
  for (let rest = value; text.length < width; rest = Math.floor(rest / 62))
    text = BASE62_DIGITS[rest % 62] + text;
  return text;
}

/**
 * What a refusal adds about an id or a slug that was not found: the end of its message, and suggestions for a program.
 */
interface NotFoundHint {
  says: string;
  details?: { suggest: string[] };
}

/**
 * The hint for an id or a slug that was not found. An id of another kind gets the path where that kind is read;
 * anything else gets the known names that are similar. An id of the right kind gets no hint, because that could reveal
 * that another account has it.
 * @param known the names that the account may call.
 */
export function notFoundHint(sent: string, expected: IdPrefix, known: readonly string[] = []): NotFoundHint {
  const prefix = sent.split('_')[0] ?? '';
  if (sent.includes('_') && isIdPrefix(prefix))
    return prefix === expected ? { says: '' } : otherKindHint(sent, prefix, expected);
  const suggest = likelyNames(sent, known);
  return suggest.length === 0 ? { says: '' } : { says: meantWordHint(suggest), details: { suggest } };
}

function otherKindHint(id: string, prefix: IdPrefix, expected: IdPrefix): NotFoundHint {
  const says = ` ${prefix}_… is the id of ${NOUN_BY_PREFIX[prefix]}: the id of ${NOUN_BY_PREFIX[expected]} begins with ${expected}_.`;
  const path = PATH_BY_PREFIX[prefix];
  return { says, ...(path !== undefined && { details: { suggest: [`GET /api/v1/${path}/${id}`] } }) };
}

/** For each prefix of an id, the path below /api/v1 at which such an object is read. */
const PATH_BY_PREFIX: Partial<Record<IdPrefix, string>> = {
  ast: 'assets',
  job: 'jobs',
  pre: 'presets',
  tpl: 'templates',
  whe: 'webhook-endpoints',
};

function isIdPrefix(text: string): text is IdPrefix {
  return Object.hasOwn(NOUN_BY_PREFIX, text);
}

import { createHash, randomBytes } from 'node:crypto';

/** Every kind of id the service gives out. */
export type IdPrefix =
  | 'acc'
  | 'key'
  | 'ses'
  | 'ast'
  | 'job'
  | 'pre'
  | 'tpl'
  | 'whe'
  | 'whd'
  | 'evt'
  | 'fbk'
  | 'led'
  | 'run';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const TIME_CHARACTERS = 8;
const RANDOM_CHARACTERS = 16;

/**
 * An id such as `tpl_0VyQ3k1Zb7…`: 8 characters of creation time in milliseconds (base 62, so that ids sort
 * by creation in ASCII order) and 16 random ones (95 bits).
 */
export function newId(prefix: IdPrefix, nowMs: number = Date.now()): string {
  return `${prefix}_${base62(nowMs, TIME_CHARACTERS)}${randomText(RANDOM_CHARACTERS)}`;
}

/**
 * An id in the same form whose last part follows from a seed: the same seed gives the same id. Bytes that 62 does
 * not divide evenly favour eight characters a little, which costs less than a bit.
 */
export function derivedId(prefix: IdPrefix, nowMs: number, seed: string): string {
  const digest = createHash('sha256').update(seed).digest().subarray(0, RANDOM_CHARACTERS);
  const text = Array.from(digest, (byte) => ALPHABET[byte % 62]).join('');
  return `${prefix}_${base62(nowMs, TIME_CHARACTERS)}${text}`;
}

/** `length` characters of [0-9A-Za-z], uniformly random: bytes past the last whole multiple of 62 are drawn again. */
export function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < 248 && text.length < length) text += ALPHABET[byte % 62];
    }
  }
  return text;
}

function base62(value: number, width: number): string {
  let text = '';
  for (let rest = value; text.length < width; rest = Math.floor(rest / 62)) text = ALPHABET[rest % 62] + text;
  return text;
}

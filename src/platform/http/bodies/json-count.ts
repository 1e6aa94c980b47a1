import { randomInt } from 'node:crypto';

/** The sizes of a JSON text, counted from the characters outside its strings. */
interface JsonSizes {
  /** Levels of nested lists and objects. */
  deepest: number;
  /** The number of names and values, including lists and objects, counted from commas, colons and brackets. */
  values: number;
  /** The number of different names, a few per cent too low for many names; 0 if names are not counted. */
  names: number;
}

/**
 * Names are hashed by FNV-1a with a secret start value, because otherwise a caller could choose names with equal
 * hashes.
 */
const HASH_START = randomInt(2 ** 31);
const FNV_PRIME = 16_777_619;

/** The upper 17 bits of a hash after mixing, so that they depend on all of its bits. */
function slotOf(hash: number): number {
  return Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) >>> 15;
}

export const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT, COMMA, COLON] =
  Buffer.from('"\\[]{},:');

/**
 * Counts a JSON text in one pass over its bytes, which may be interrupted.
 * @returns a function that continues where its last call ended, and returns the sizes of everything before `end`.
 */
export function createJsonCount(json: Buffer, countsNames: boolean): (end: number) => Readonly<JsonSizes> {
  const sizes: JsonSizes = { deepest: 0, values: 0, names: 0 };
  const seen = new Uint8Array(countsNames ? 2 ** 17 : 0);
  let next = 0;
  let depth = 0;
  let isInString = false;
  let hash = 0;

  function countName(): void {
    const slot = slotOf(hash);
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
        hash = HASH_START;
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

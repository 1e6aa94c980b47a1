import { type IndexSpec, sortBy } from '../../platform/stores/documents/port.ts';

/**
 * The eight bytes of a perceptual hash, in hexadecimal. Two hashes that differ in at most 7 bits have at least one byte
 * in common.
 */
export type HashBytes = Record<(typeof HASH_BYTE_NAMES)[number], string>;

const HASH_BYTE_NAMES = ['b0', 'b1', 'b2', 'b3', 'b4', 'b5', 'b6', 'b7'] as const;

/**
 * The maximum number of bits by which two pictures may differ in a search. With one more bit, the hashes might have
 * no equal byte.
 */
export const MAX_HASH_DISTANCE = HASH_BYTE_NAMES.length - 1;
export const DEFAULT_HASH_DISTANCE = 6;

/** One index per byte. In each index, the assets of an account with the same byte are neighbours. */
export const HASH_INDEXES: readonly IndexSpec[] = HASH_BYTE_NAMES.map((byte) => ({
  name: `hash-${byte}`,
  fields: sortBy('accountId', 'state', `hashBytes.${byte}`),
  whenPresent: [`hashBytes.${byte}`],
}));

/** The fields of a document that together hold the perceptual hash of its image. */
export const HASH_FIELDS = HASH_BYTE_NAMES.map((byte) => `hashBytes.${byte}` as const);

/** Joins the bytes of a perceptual hash. */
export function joinHashBytes(bytes: HashBytes): string {
  return HASH_BYTE_NAMES.map((byte) => bytes[byte]).join('');
}

export function hashBytesOf(hash: string): HashBytes {
  return Object.fromEntries(
    HASH_BYTE_NAMES.map((byte, at) => [byte, hash.slice(2 * at, 2 * at + 2)]),
  ) as HashBytes;
}

/** One filter per byte. Together the filters match every picture within MAX_HASH_DISTANCE, and some beyond it. */
export function similarHashFilters(hash: string): Record<string, string>[] {
  return Object.entries(hashBytesOf(hash)).map(([byte, value]) => ({ [`hashBytes.${byte}`]: value }));
}

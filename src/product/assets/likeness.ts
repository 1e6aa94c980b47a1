import { type DocumentFilter, type IndexSpec, sortBy } from '../../platform/stores/documents/port.ts';

/**
 * The eight bytes of a perceptual hash, in hexadecimal. The hashes of similar pictures have a pair of bytes (the first
 * two, the next two, and so on) that differs in at most one bit: one byte of the pair is equal, and the other one
 * nearly. Of a million assets, about a thousand are so near to a hash.
 */
export type HashBytes = Record<(typeof HASH_BYTE_NAMES)[number], string>;

const HASH_BYTE_NAMES = ['b0', 'b1', 'b2', 'b3', 'b4', 'b5', 'b6', 'b7'] as const;

/**
 * The maximum number of bits by which two pictures may differ in a search. With one more bit, each of the four pairs
 * of bytes might differ in two.
 */
export const MAX_HASH_DISTANCE = HASH_BYTE_NAMES.length - 1;
export const DEFAULT_HASH_DISTANCE = 6;

/** One index per byte. In each index, the assets of an account with the same pair of bytes are neighbours. */
export const HASH_INDEXES: readonly IndexSpec[] = HASH_BYTE_NAMES.map((byte, at) => ({
  name: `hash-${byte}`,
  fields: sortBy('accountId', 'state', `hashBytes.${byte}`, `hashBytes.${otherByteOfPair(at)}`),
  whenPresent: [`hashBytes.${byte}`],
}));

function otherByteOfPair(at: number): keyof HashBytes {
  return HASH_BYTE_NAMES[at ^ 1] ?? HASH_BYTE_NAMES[0];
}

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

/**
 * One filter per byte: the byte is equal, and the other one of its pair differs in at most one bit. Together the
 * filters match every picture within MAX_HASH_DISTANCE, and some beyond it.
 */
export function similarHashFilters(hash: string): DocumentFilter[] {
  const bytes = hashBytesOf(hash);
  return HASH_BYTE_NAMES.map((byte, at) => {
    const other = otherByteOfPair(at);
    return { [`hashBytes.${byte}`]: bytes[byte], [`hashBytes.${other}`]: { $in: nearBytes(bytes[other]) } };
  });
}

/** The byte, and those that differ from it in one bit. */
function nearBytes(byte: string): string[] {
  const value = Number.parseInt(byte, 16);
  const near = [value, ...Array.from({ length: 8 }, (_, bit) => value ^ (1 << bit))];
  return near.map((one) => one.toString(16).padStart(2, '0'));
}

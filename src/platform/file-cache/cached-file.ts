import { hash } from 'node:crypto';

/** What is kept beside the bytes, as JSON. */
export type CachedFacts = Readonly<Record<string, unknown>>;

const DIGEST_BYTES = 32;
const LENGTH_BYTES = 4;

/** A file of the cache: the SHA-256 of all that follows, the length of the facts, the facts as JSON, the bytes. */
export function packed(facts: CachedFacts, bytes: Uint8Array): Buffer {
  const text = Buffer.from(JSON.stringify(facts));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(text.length);
  const content = Buffer.concat([length, text, bytes]);
  return Buffer.concat([hash('sha256', content, 'buffer'), content]);
}

/** Reads such a file; null when it is damaged, such as one whose end was lost with the power. */
export function unpacked(file: Buffer): { facts: CachedFacts; bytes: Buffer } | null {
  if (file.length < DIGEST_BYTES + LENGTH_BYTES) return null;
  const content = file.subarray(DIGEST_BYTES);
  if (!hash('sha256', content, 'buffer').equals(file.subarray(0, DIGEST_BYTES))) return null;
  const end = LENGTH_BYTES + content.readUInt32BE();
  const facts = JSON.parse(content.subarray(LENGTH_BYTES, end).toString()) as CachedFacts;
  return { facts, bytes: content.subarray(end) };
}

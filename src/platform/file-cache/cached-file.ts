import { crc32 } from 'node:zlib';

/** What is kept beside the bytes, as JSON. */
export type CachedFileFacts = Readonly<Record<string, unknown>>;

const SUM_BYTES = 4;
const LENGTH_BYTES = 4;

/**
 * Packs a file of the cache: the CRC-32 of everything after it, the length of the facts, the facts as JSON, the bytes.
 * The checksum detects what a disk loses or changes. A cryptographic one would take more CPU than the rest of a
 * response.
 */
export function packFile(facts: CachedFileFacts, bytes: Uint8Array): Buffer {
  const text = Buffer.from(JSON.stringify(facts));
  const head = Buffer.alloc(SUM_BYTES + LENGTH_BYTES);
  head.writeUInt32BE(text.length, SUM_BYTES);
  const file = Buffer.concat([head, text, bytes]);
  file.writeUInt32BE(crc32(file.subarray(SUM_BYTES)));
  return file;
}

/** Unpacks a file of the cache; null if it is damaged, for example cut off by a power failure. */
export function unpackFile(file: Buffer): { facts: CachedFileFacts; bytes: Buffer } | null {
  if (file.length < SUM_BYTES + LENGTH_BYTES) return null;
  const content = file.subarray(SUM_BYTES);
  if (crc32(content) !== file.readUInt32BE()) return null;
  const end = LENGTH_BYTES + content.readUInt32BE();
  const facts = JSON.parse(content.subarray(LENGTH_BYTES, end).toString()) as CachedFileFacts;
  return { facts, bytes: content.subarray(end) };
}

/**
 * Keeps a hostile TIFF structure from costing more than it weighs. The reader spends some 16 bytes of heap on every byte
 * a tag claims, and thousands of tags may claim the same megabytes again: a 25 MB file could take gigabytes.
 *
 * So the directories are walked first, and every entry that claims much, or that comes after the total is used up, loses
 * its type, which readers skip. Nothing of interest is that large: strip tables, maker notes, previews.
 */

const VALUE_LIMIT_BYTES = 64 * 1024;
const TOTAL_LIMIT_BYTES = 512 * 1024;
const DIRECTORY_LIMIT = 8;
const ENTRY_BYTES = 12;

/** Bytes of one value, by TIFF type (TIFF 6.0, section 2). */
const TYPE_BYTES: Record<number, number> = {
  1: 1,
  2: 1,
  3: 2,
  4: 4,
  5: 8,
  6: 1,
  7: 1,
  8: 2,
  9: 4,
  10: 8,
  11: 4,
  12: 8,
  13: 4,
};

/** Entries that lead to another directory: Exif, GPS, Interoperability. */
const POINTERS: ReadonlySet<number> = new Set([0x8769, 0x8825, 0xa005]);

/** Answers a copy of a TIFF structure whose bulky entries have no type; undefined when it is none. */
export function withoutBulkyTags(tiff: Uint8Array): Buffer<ArrayBuffer> | undefined {
  if (tiff.byteLength < 8) return undefined;
  const copy = Buffer.from(tiff);
  const view = new DataView(copy.buffer, copy.byteOffset, copy.byteLength);
  const littleEndian = copy[0] === 0x49;
  const pending = [view.getUint32(4, littleEndian)];
  let leftBytes = TOTAL_LIMIT_BYTES;
  for (let directory = 0; directory < DIRECTORY_LIMIT; directory++) {
    const offset = pending.shift();
    if (offset === undefined) break;
    if (offset + 2 > view.byteLength) continue;
    const entries = view.getUint16(offset, littleEndian);
    for (let index = 0; index < entries; index++) {
      const at = offset + 2 + index * ENTRY_BYTES;
      if (at + ENTRY_BYTES > view.byteLength) break;
      const claimedBytes =
        (TYPE_BYTES[view.getUint16(at + 2, littleEndian)] ?? 0) * view.getUint32(at + 4, littleEndian);
      if (claimedBytes > Math.min(VALUE_LIMIT_BYTES, leftBytes)) view.setUint16(at + 2, 0);
      else leftBytes -= claimedBytes;
      if (POINTERS.has(view.getUint16(at, littleEndian))) pending.push(view.getUint32(at + 8, littleEndian));
    }
  }
  return copy;
}

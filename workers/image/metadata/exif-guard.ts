import { Bytes } from '../../formats/bytes.ts';
import { soundExifDirectories } from '../../formats/tiff.ts';

/**
 * Limits the memory that a hostile TIFF structure can cost. The reader spends some 16 bytes of heap on every byte that
 * a tag claims, and thousands of tags may claim the same megabytes: a 25 MB file could take gigabytes.
 *
 * So the directories are walked first. Every entry that claims too much, or that exceeds the total, loses its type, so
 * that readers skip it. Only uninteresting entries are that large: strip tables, maker notes, previews.
 */

/** Limit of the values of one entry, and of all entries together. */
export const MAX_VALUE_BYTES = 64 * 1024;
export const MAX_TOTAL_BYTES = 512 * 1024;
/** Offset of the type in an entry. */
const TYPE_AT = 2;

/**
 * Returns a copy of a TIFF structure whose bulky entries have no type; undefined when the bytes are none, or have no
 * reliable directories.
 */
export function withoutBulkyTags(tiff: Uint8Array): Buffer<ArrayBuffer> | undefined {
  const copy = Buffer.from(tiff);
  const directories = soundExifDirectories(new Bytes(copy));
  if (directories.length === 0) return undefined;
  let leftBytes = MAX_TOTAL_BYTES;
  for (const { at, claimedBytes } of directories.flatMap(({ entries }) => entries)) {
    if (claimedBytes > Math.min(MAX_VALUE_BYTES, leftBytes)) copy.fill(0, at + TYPE_AT, at + TYPE_AT + 2);
    else leftBytes -= claimedBytes;
  }
  return copy;
}

import { Bytes } from '../../formats/bytes.ts';
import { soundExifDirectories } from '../../formats/tiff.ts';

/**
 * Keeps a hostile TIFF structure from costing more than it weighs. The reader spends some 16 bytes of heap on every byte
 * a tag claims, and thousands of tags may claim the same megabytes again: a 25 MB file could take gigabytes.
 *
 * So the directories are walked first, and every entry that claims much, or that comes after the total is used up, loses
 * its type, which readers skip. Nothing of interest is that large: strip tables, maker notes, previews.
 */

const VALUE_LIMIT_BYTES = 64 * 1024;
const TOTAL_LIMIT_BYTES = 512 * 1024;
/** In an entry. */
const TYPE_AT = 2;

/** Answers a copy of a TIFF structure whose bulky entries have no type; undefined when it is none, or nobody can bound it. */
export function withoutBulkyTags(tiff: Uint8Array): Buffer<ArrayBuffer> | undefined {
  const copy = Buffer.from(tiff);
  const directories = soundExifDirectories(new Bytes(copy));
  if (directories.length === 0) return undefined;
  let leftBytes = TOTAL_LIMIT_BYTES;
  for (const { at, claimedBytes } of directories.flatMap(({ entries }) => entries)) {
    if (claimedBytes > Math.min(VALUE_LIMIT_BYTES, leftBytes)) copy.fill(0, at + TYPE_AT, at + TYPE_AT + 2);
    else leftBytes -= claimedBytes;
  }
  return copy;
}

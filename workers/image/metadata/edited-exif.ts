import { crc32 } from 'node:zlib';
import { ByteReader } from '../../formats/bytes.ts';
import { exifDirectoriesOrNone, type TiffEntry, withoutExifPrefix } from '../../formats/tiff.ts';
import { containsPicture } from './embedded-pictures.ts';

/**
 * Limits the memory that a hostile TIFF structure can cost. The tag reader takes some 16 bytes of heap for every byte
 * that a tag claims, and thousands of tags may claim the same megabytes, so that a 25 MB file could take gigabytes.
 *
 * The directories are therefore walked first. An entry that claims too many bytes, or exceeds the total, loses its
 * type, so that readers skip it. Only entries that nobody needs are that large: strip tables, maker notes, previews.
 */

/** The limits of the values of one entry, and of all entries together. */
export const MAX_EXIF_VALUE_BYTES = 64 * 1024;
export const MAX_EXIF_TOTAL_BYTES = 512 * 1024;
/** The offset of the type within a directory entry. */
const ENTRY_TYPE_OFFSET = 2;

/**
 * Returns a copy of a TIFF structure whose bulky entries have lost their type, so that readers skip them. Undefined
 * when the bytes are no TIFF structure, or have no reliable directories.
 */
export function withoutBulkyTags(tiff: Uint8Array): Buffer<ArrayBuffer> | undefined {
  const copy = Buffer.from(tiff);
  const directories = exifDirectoriesOrNone(new ByteReader(copy));
  if (directories.length === 0) return undefined;
  let leftBytes = MAX_EXIF_TOTAL_BYTES;
  for (const { at, claimedBytes } of directories.flatMap(({ entries }) => entries)) {
    if (claimedBytes > Math.min(MAX_EXIF_VALUE_BYTES, leftBytes))
      copy.fill(0, at + ENTRY_TYPE_OFFSET, at + ENTRY_TYPE_OFFSET + 2);
    else leftBytes -= claimedBytes;
  }
  return copy;
}

/**
 * The EXIF of a file may hold small copies of the picture, which would show what a crop cut away and what a redaction
 * covered. libvips would copy them to the result. They are therefore removed from all EXIF that is kept, and so are
 * facts that libvips does not correct.
 *
 * No bytes are moved. The directory entries are blanked in place, and the codec writes only what an entry refers to.
 */

const ENTRY_BYTES = 12;
const OFFSET_BYTES = 4;

/** The tags that are never copied to a result. */
const UNCARRIED_TAGS: ReadonlySet<number> = new Set([
  // Offset and length of a thumbnail, which readers follow in any directory; then another kind of thumbnail.
  0x0201, 0x0202, 0x501b,
  // The maker note. Its layout is the maker's own, and it holds copies of the picture or offsets into the file.
  0x927c,
  // Blocks inside the EXIF block: further directories, XMP, IPTC, a profile, Photoshop's resources and layers; padding.
  0x014a,
  0x02bc, 0x83bb, 0x8773, 0x8649, 0x935c, 0xea1c,
  // The size of the original picture, and positions in it.
  0x1001, 0x1002, 0x9214, 0xa214,
]);
const ORIENTATION_TAG = 0x0112;

/**
 * Blanks the EXIF entries that a result must not have, in place.
 * @param exif the EXIF as the codec has read it.
 * @param orientation whether the orientation is blanked too. The codec drops it only if it turns the picture.
 * @returns false when the EXIF cannot be read, or the file stores it in another form. The EXIF must then not be kept.
 */
export function blankUncarriedExif(
  input: Uint8Array<ArrayBuffer>,
  exif: Uint8Array,
  { orientation }: { orientation: boolean },
): boolean {
  const tiff = withoutExifPrefix(exif);
  const file = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  const at = file.indexOf(tiff);
  if (at === -1) return false;
  const end = at + tiff.length;
  if (!blankUncarriedEntries(file.subarray(at, end), { orientation })) return false;
  if (file.toString('latin1', at - 4, at) === 'eXIf')
    file.writeUInt32BE(crc32(file.subarray(at - 4, end)), end);
  return true;
}

/**
 * Blanks the entries that a result must not have in every directory of a TIFF structure, and cuts the chain after the
 * first directory, because the second describes the thumbnail.
 * @returns whether there was a directory.
 */
export function blankUncarriedEntries(tiff: Buffer, { orientation }: { orientation: boolean }): boolean {
  const bytes = new ByteReader(tiff);
  const directories = exifDirectoriesOrNone(bytes);
  let leftBytes = MAX_EXIF_TOTAL_BYTES;
  for (const { entries, nextAt } of directories) {
    for (const entry of entries) {
      const isBulky = entry.claimedBytes > Math.min(MAX_EXIF_VALUE_BYTES, leftBytes);
      const isStale = orientation && entry.tag === ORIENTATION_TAG;
      if (isBulky || isStale || !isCarriedExifEntry(bytes, entry))
        tiff.fill(0, entry.at, entry.at + ENTRY_BYTES);
      else leftBytes -= entry.claimedBytes;
    }
    if (nextAt !== undefined) tiff.fill(0, nextAt, nextAt + OFFSET_BYTES);
  }
  return directories.length > 0;
}

/** Whether an entry of EXIF may be copied to a result. */
export function isCarriedExifEntry(bytes: ByteReader, { tag, valueAt, claimedBytes }: TiffEntry): boolean {
  return !UNCARRIED_TAGS.has(tag) && !containsPicture(bytes.slice(valueAt, valueAt + claimedBytes));
}

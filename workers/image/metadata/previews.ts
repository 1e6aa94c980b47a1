import { crc32 } from 'node:zlib';
import { Bytes } from '../../formats/bytes.ts';
import { soundExifDirectories, withoutExifPrefix } from '../../formats/tiff.ts';
import { metadataOf } from '../input.ts';

/**
 * A file's EXIF may hold a small copy of the picture, and libvips carries it along: it would show what a crop cut away
 * and what a redaction covered. So it is removed from every EXIF that is kept. For a redaction the maker note is
 * removed as well, because cameras store further copies in it.
 *
 * No bytes are moved. The directory entries that point to the copies are blanked in place, and the codec writes nothing
 * that it cannot reach.
 */

const ENTRY_BYTES = 12;
const OFFSET_BYTES = 4;
/** Tags of the offset and the length of a thumbnail; readers follow them in any directory. */
const THUMBNAIL: readonly number[] = [0x0201, 0x0202];
const MAKER_NOTE = 0x927c;
const ORIENTATION = 0x0112;

/**
 * Blanks the previews in a file's EXIF, in place.
 * @param orientation whether its orientation is blanked too, for frames that the codec does not turn.
 * @returns false when the EXIF cannot be read, or is not stored in the file as it is read, and so must not be kept.
 */
export async function blankPreviews(
  input: Uint8Array<ArrayBuffer>,
  { makerNote, orientation }: { makerNote: boolean; orientation: boolean },
): Promise<boolean> {
  const { exif } = await metadataOf(input);
  if (exif === undefined) return true;
  const tiff = withoutExifPrefix(exif);
  const file = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  const at = file.indexOf(tiff);
  if (at === -1) return false;
  const end = at + tiff.length;
  const tags = [...THUMBNAIL, ...(makerNote ? [MAKER_NOTE] : []), ...(orientation ? [ORIENTATION] : [])];
  if (!blankIn(file.subarray(at, end), tags)) return false;
  if (file.toString('latin1', at - 4, at) === 'eXIf')
    file.writeUInt32BE(crc32(file.subarray(at - 4, end)), end);
  return true;
}

/**
 * Blanks entries of these tags in every directory, and cuts the list of directories after the first, because the second
 * belongs to the thumbnail.
 * @returns whether there was a directory.
 */
function blankIn(tiff: Buffer, tags: readonly number[]): boolean {
  const directories = soundExifDirectories(new Bytes(tiff));
  for (const { entries, nextAt } of directories) {
    for (const { at, tag } of entries) if (tags.includes(tag)) tiff.fill(0, at, at + ENTRY_BYTES);
    if (nextAt !== undefined) tiff.fill(0, nextAt, nextAt + OFFSET_BYTES);
  }
  return directories.length > 0;
}

import { crc32 } from 'node:zlib';
import sharp from 'sharp';
import { Bytes } from '../../formats/bytes.ts';
import { soundExifDirectories, withoutExifPrefix } from '../../formats/tiff.ts';

/**
 * A file's EXIF may hold a small copy of the picture, and its reader carries that along: it would show what a crop cut
 * away and what a redaction covered. So it is taken out of every EXIF that is kept. For a redaction the maker note goes as
 * well, in which cameras hide further copies.
 *
 * Nothing is moved: the directory entries that lead to the copies are blanked where they stand, and the codec writes
 * none of what it does not reach.
 */

const ENTRY_BYTES = 12;
const OFFSET_BYTES = 4;
/** Where a thumbnail begins and how long it is; honoured in any directory. */
const THUMBNAIL: readonly number[] = [0x0201, 0x0202];
const MAKER_NOTE = 0x927c;

/**
 * Blanks the previews in a file's EXIF, in place.
 * @returns false when the EXIF cannot be read, or does not stand in the file as it is read, and so must not be kept.
 */
export async function blankPreviews(
  input: Uint8Array<ArrayBuffer>,
  options: { makerNote: boolean },
): Promise<boolean> {
  const { exif } = await sharp(input, { failOn: 'error', limitInputPixels: false }).metadata();
  if (exif === undefined) return true;
  const tiff = withoutExifPrefix(exif);
  const file = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  const at = file.indexOf(tiff);
  if (at === -1) return false;
  const end = at + tiff.length;
  const tags = options.makerNote ? [...THUMBNAIL, MAKER_NOTE] : THUMBNAIL;
  if (!blankIn(file.subarray(at, end), tags)) return false;
  if (file.toString('latin1', at - 4, at) === 'eXIf')
    file.writeUInt32BE(crc32(file.subarray(at - 4, end)), end);
  return true;
}

/**
 * Blanks entries of these tags in every directory, and cuts the list of directories after the first: the second is the
 * thumbnail's.
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

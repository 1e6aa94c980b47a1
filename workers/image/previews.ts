import { crc32 } from 'node:zlib';
import sharp from 'sharp';

/**
 * A file's EXIF may hold a small copy of the picture, and its reader carries that along: it would show what a crop cut
 * away and what a redaction covered. So it is taken out of every EXIF that is kept. For a redaction the maker note goes as
 * well, in which cameras hide further copies.
 *
 * Nothing is moved: the directory entries that lead to the copies are blanked where they stand, and the codec writes
 * none of what it does not reach.
 */

const EXIF_PREFIX = Buffer.from('Exif\0\0', 'latin1');
const ENTRY_BYTES = 12;
/** Entries that lead to another directory: Exif, GPS, Interoperability. */
const POINTERS: readonly number[] = [0x8769, 0x8825, 0xa005];
/** Where a thumbnail begins and how long it is; honoured in any directory. */
const THUMBNAIL: readonly number[] = [0x0201, 0x0202];
const MAKER_NOTE = 0x927c;
const MOST_DIRECTORIES = 16;

/**
 * Blanks the previews in a file's EXIF, in place.
 * @returns false when the EXIF does not stand in the file as it is read, and so must not be kept.
 */
export async function blankPreviews(
  input: Uint8Array<ArrayBuffer>,
  options: { makerNote: boolean },
): Promise<boolean> {
  const { exif } = await sharp(input, { failOn: 'error', limitInputPixels: false }).metadata();
  if (exif === undefined) return true;
  const tiff = exif.subarray(0, EXIF_PREFIX.length).equals(EXIF_PREFIX)
    ? exif.subarray(EXIF_PREFIX.length)
    : exif;
  const file = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  const at = file.indexOf(tiff);
  if (at === -1) return false;
  blankIn(file.subarray(at, at + tiff.length), options.makerNote ? [...THUMBNAIL, MAKER_NOTE] : THUMBNAIL);
  if (file.toString('latin1', at - 4, at) === 'eXIf') {
    file.writeUInt32BE(crc32(file.subarray(at - 4, at + tiff.length)), at + tiff.length);
  }
  return true;
}

/** Blanks entries of these tags in every directory, and cuts the list of directories after the first: the second is the thumbnail's. */
function blankIn(tiff: Buffer, tags: readonly number[]): void {
  const view = new DataView(tiff.buffer, tiff.byteOffset, tiff.byteLength);
  if (tiff.length < 8) return;
  const isLittle = tiff[0] === 0x49;
  const pending = [view.getUint32(4, isLittle)];
  for (let read = 0; read < MOST_DIRECTORIES; read += 1) {
    const directory = pending.shift();
    if (directory === undefined) return;
    if (directory + 2 > tiff.length) continue;
    const end = directory + 2 + view.getUint16(directory, isLittle) * ENTRY_BYTES;
    for (let at = directory + 2; at + ENTRY_BYTES <= Math.min(end, tiff.length); at += ENTRY_BYTES) {
      const tag = view.getUint16(at, isLittle);
      if (POINTERS.includes(tag)) pending.push(view.getUint32(at + 8, isLittle));
      if (tags.includes(tag)) tiff.fill(0, at, at + ENTRY_BYTES);
    }
    if (end + 4 <= tiff.length) view.setUint32(end, 0);
  }
}

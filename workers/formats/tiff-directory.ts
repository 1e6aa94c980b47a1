import { TIFF_TYPE_LONG, TIFF_TYPE_SHORT, type TiffDirectory } from './tiff.ts';

/**
 * An entry to write: a number, or an entry of another directory in the same byte order. The values of a copied entry
 * stay where they are.
 */
export type NewTiffEntry = { tag: number; value: number } | { tag: number; copied: Uint8Array };

/** The largest number that is written as two bytes. */
const MAX_SHORT_VALUE = 0xffff;

/**
 * Builds a directory of a TIFF or BigTIFF.
 * @param next offset of the directory after it; 0 for none.
 */
export function encodeTiffDirectory(
  { littleEndian, isBig }: Pick<TiffDirectory, 'littleEndian' | 'isBig'>,
  entries: readonly NewTiffEntry[],
  next: number,
): Buffer {
  const [countBytes, entryBytes, wordBytes] = isBig ? [8, 20, 8] : [2, 12, 4];
  const directory = Buffer.alloc(countBytes + entries.length * entryBytes + wordBytes);
  const view = new DataView(directory.buffer, directory.byteOffset, directory.byteLength);
  const writeWord = (at: number, value: number) =>
    isBig ? view.setBigUint64(at, BigInt(value), littleEndian) : view.setUint32(at, value, littleEndian);
  if (isBig) writeWord(0, entries.length);
  else view.setUint16(0, entries.length, littleEndian);
  for (const [index, entry] of entries.toSorted((one, other) => one.tag - other.tag).entries()) {
    const at = countBytes + index * entryBytes;
    if ('copied' in entry) {
      directory.set(entry.copied, at);
      continue;
    }
    const isShort = entry.value <= MAX_SHORT_VALUE;
    view.setUint16(at, entry.tag, littleEndian);
    view.setUint16(at + 2, isShort ? TIFF_TYPE_SHORT : TIFF_TYPE_LONG, littleEndian);
    writeWord(at + 4, 1);
    if (isShort) view.setUint16(at + 4 + wordBytes, entry.value, littleEndian);
    else view.setUint32(at + 4 + wordBytes, entry.value, littleEndian);
  }
  writeWord(directory.length - wordBytes, next);
  return directory;
}

/** The number of bytes that an entry takes in a directory. */
export function tiffEntrySize({ isBig }: Pick<TiffDirectory, 'isBig'>): number {
  return isBig ? 20 : 12;
}

/**
 * A copy of a file with one more directory at its end.
 * @param options.next offset of the directory after it; none by default.
 * @param options.pointerAt the field that points to it; by default, the one for the first directory of the file.
 */
export function withTiffDirectory(
  file: Uint8Array,
  { littleEndian, isBig }: Pick<TiffDirectory, 'littleEndian' | 'isBig'>,
  entries: readonly NewTiffEntry[],
  { next = 0, pointerAt = isBig ? 8 : 4 }: { next?: number; pointerAt?: number | undefined } = {},
): Buffer<ArrayBuffer> {
  const at = file.length + (file.length % 2);
  const directory = encodeTiffDirectory({ littleEndian, isBig }, entries, next);
  const whole = Buffer.concat([file, Buffer.alloc(at - file.length), directory]);
  const view = new DataView(whole.buffer, whole.byteOffset, whole.byteLength);
  if (isBig) view.setBigUint64(pointerAt, BigInt(at), littleEndian);
  else view.setUint32(pointerAt, at, littleEndian);
  return whole;
}

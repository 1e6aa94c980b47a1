import sharp from 'sharp';
import { ByteReader } from '../formats/bytes.ts';
import { END_OF_IMAGE_MARKER, jpegSegments, START_OF_SCAN_MARKER } from '../formats/jpeg.ts';
import { MAX_PIXELS } from '../protocol.ts';
import { encodeLocalOutput } from '../transport/output.ts';

/**
 * Completes a JPEG that lacks only its end marker, because decoders take such a file for a truncated one. Cameras write
 * such files, and so do uploads that stop two bytes early.
 */

const END_MARKER = Buffer.from([0xff, END_OF_IMAGE_MARKER]);
/** Bytes without a marker. They change the picture if the decoder still needs data. */
const FILLER = Buffer.alloc(64, 0x5a);
/** More rows than libvips decodes at once. libvips reports missing data before these rows. */
const LAST_ROWS = 64;
const COEFFICIENTS = 64;

/** Adds the end marker to a file that lacks no row and no scan; returns any other file unchanged. */
export async function withEndOfImageMarker(input: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const file = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  if (file.subarray(-END_MARKER.length).equals(END_MARKER) || !endsInCompleteScan(file)) return input;
  // The first byte of the marker may be there.
  const data = file.at(-1) === 0xff ? file.subarray(0, -1) : file;
  const whole = Buffer.concat([data, END_MARKER]);
  const isWhole = await isSamePicture(whole, Buffer.concat([data, FILLER, END_MARKER])).catch(() => false);
  return isWhole ? whole : input;
}

/** Whether the file ends inside a scan, and all bits of every coefficient of every component were sent. */
function endsInCompleteScan(file: Buffer): boolean {
  const bytes = new ByteReader(file);
  const missing = new Map<number, Set<number>>();
  let endsInScan = false;
  for (const { marker, start } of jpegSegments(bytes)) {
    endsInScan = marker === START_OF_SCAN_MARKER;
    if (marker === END_OF_IMAGE_MARKER) return false;
    if (!endsInScan) continue;
    const components = bytes.u8(start);
    const [first, last, bits] = [0, 1, 2].map((at) => bytes.u8(start + 1 + 2 * components + at)) as [
      number,
      number,
      number,
    ];
    for (let index = 0; index < components; index++) {
      const component = bytes.u8(start + 1 + 2 * index);
      const left = missing.get(component) ?? new Set(Array(COEFFICIENTS).keys());
      missing.set(component, left);
      // The low half byte counts the bits of a coefficient that are still to come.
      for (let at = first; at <= last; at++) if ((bits & 0x0f) === 0) left.delete(at);
    }
  }
  return endsInScan && [...missing.values()].every(({ size }) => size === 0);
}

/** Whether a decoder makes the same last rows of both files, and reports no error for the first file. */
async function isSamePicture(whole: Buffer, filled: Buffer): Promise<boolean> {
  const rows = await lastRows(whole, 'warning');
  return Buffer.from(rows).equals(await lastRows(filled, 'error'));
}

async function lastRows(file: Buffer, failOn: 'warning' | 'error'): Promise<Uint8Array> {
  const picture = sharp(file, { failOn, limitInputPixels: MAX_PIXELS, ignoreIcc: true });
  const { width, height } = await picture.metadata();
  const rows = Math.min(height, LAST_ROWS);
  const { data } = await encodeLocalOutput(
    picture.extract({ left: 0, top: height - rows, width, height: rows }).raw(),
  );
  return data;
}

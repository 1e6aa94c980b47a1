import sharp from 'sharp';
import { Bytes } from '../formats/bytes.ts';
import { END_OF_IMAGE, jpegSegments, START_OF_SCAN } from '../formats/jpeg.ts';
import { MAX_PIXELS } from '../protocol.ts';
import { encodeLocalOutput } from '../transport/output.ts';

/**
 * Completes a JPEG that lacks only its end marker, which decoders take for one that is cut short. Such files come from
 * cameras and from uploads that stop two bytes early.
 */

const END_MARKER = Buffer.from([0xff, END_OF_IMAGE]);
/** Bytes without a marker, which change the picture if a decoder needs them. */
const FILLER = Buffer.alloc(64, 0x5a);
/** More rows than libvips decodes at once; it reports what is missing before them. */
const LAST_ROWS = 64;
const COEFFICIENTS = 64;

/** The file with its end marker if no row and no scan is missing; any other file unchanged. */
export async function withEndOfImage(input: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const file = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  if (file.subarray(-END_MARKER.length).equals(END_MARKER) || !endsInCompleteScan(file)) return input;
  // The first byte of the marker may be there.
  const data = file.at(-1) === 0xff ? file.subarray(0, -1) : file;
  const whole = Buffer.concat([data, END_MARKER]);
  const isWhole = await isSamePicture(whole, Buffer.concat([data, FILLER, END_MARKER])).catch(() => false);
  return isWhole ? whole : input;
}

/** Whether the file ends inside a scan, and every coefficient of every component was sent with all its bits. */
function endsInCompleteScan(file: Buffer): boolean {
  const bytes = new Bytes(file);
  const missing = new Map<number, Set<number>>();
  let endsInScan = false;
  for (const { marker, start } of jpegSegments(bytes)) {
    endsInScan = marker === START_OF_SCAN;
    if (marker === END_OF_IMAGE) return false;
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
      // The low half tells how many bits of a coefficient are still to come.
      for (let at = first; at <= last; at++) if ((bits & 0x0f) === 0) left.delete(at);
    }
  }
  return endsInScan && [...missing.values()].every(({ size }) => size === 0);
}

/** Whether a decoder makes the same of the last rows of both, and has nothing to say about the first. */
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

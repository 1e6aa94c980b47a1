import sharp from 'sharp';
import { findIsoBox, isoBrands } from '../formats/boxes.ts';
import { ByteReader } from '../formats/bytes.ts';
import { withTransparentHoles } from '../formats/gif.ts';
import { JPEG_MARKERS, jpegSegments } from '../formats/jpeg.ts';
import { type HeaderDecodeHints, MAX_PIXELS, type RawPixelShape } from '../protocol.ts';
import { encodeLocalOutput } from '../transport/output.ts';
import {
  type ColouredFile,
  withDeclaredPngColours,
  withReadableAvifColours,
} from './colour/declared-colours.ts';
import { withReadableTiffSamples } from './colour/tiff-colours.ts';
import { withLeadingMetadata, withoutBulkyTexts } from './metadata/png.ts';

/** A file in a form that libvips reads correctly. */
interface ReadableFile extends ColouredFile {
  /** The file before its colours were rewritten. Its facts are the ones to report. */
  described: Uint8Array<ArrayBuffer>;
  /** Whether the pixels or the meaning of their colours were rewritten, so that the file itself cannot be returned. */
  isConverted: boolean;
  /** Bits per channel before the file was converted, if the conversion changed them. */
  bitDepth?: number;
  /** The format before the file was converted to another one. */
  formerFormat?: 'avif';
}

/** The first byte of each format. A HEIF file begins with the length of its first box, a TIFF with its byte order. */
const JPEG_FIRST_BYTE = 0xff;
const PNG_FIRST_BYTE = 0x89;
const GIF_FIRST_BYTE = 0x47;
const ISO_BOX_FIRST_BYTE = 0x00;
const LITTLE_ENDIAN_TIFF_FIRST_BYTE = 0x49;
const BIG_ENDIAN_TIFF_FIRST_BYTE = 0x4d;

/**
 * Makes a file readable: drops parts that are costly to read, and rewrites colours and pixels that libvips would
 * misread. Most files are returned unchanged.
 * @param raw describes pixels, which are returned unchanged.
 * @param pictures number of pictures in an AVIF.
 * @param page the page of a TIFF that is read.
 * @param keepsProfile whether the result may keep the colours and the profile of the file.
 */
export async function makeFileReadable(
  input: Uint8Array<ArrayBuffer>,
  {
    raw,
    pictures = 1,
    page = 0,
    keepsProfile = false,
  }: HeaderDecodeHints & { raw?: RawPixelShape; page?: number; keepsProfile?: boolean } = {},
): Promise<ReadableFile> {
  switch (raw === undefined && input[0]) {
    case PNG_FIRST_BYTE: {
      const described = withLeadingMetadata(withoutBulkyTexts(input));
      const coloured = await withDeclaredPngColours(described, keepsProfile);
      return { ...coloured, described, isConverted: coloured.input !== described };
    }
    case ISO_BOX_FIRST_BYTE: {
      const described = withStillBrand(input);
      const coloured = await withReadableAvifColours(described, pictures, keepsProfile);
      return { ...coloured, described, isConverted: coloured.input !== described };
    }
    case LITTLE_ENDIAN_TIFF_FIRST_BYTE:
    case BIG_ENDIAN_TIFF_FIRST_BYTE: {
      const converted = await withReadableTiffSamples(input, page, keepsProfile);
      return {
        described: converted.input,
        ...converted,
        isConverted: converted.input !== input,
        isHdr: false,
      };
    }
    case JPEG_FIRST_BYTE: {
      const whole = await withEndOfImageMarker(input);
      return { input: whole, described: whole, isConverted: false, isHdr: false };
    }
    case GIF_FIRST_BYTE: {
      const withHoles = withTransparentHoles(input);
      return { input: withHoles, described: withHoles, isConverted: false, isHdr: false };
    }
    default:
      return { input, described: input, isConverted: false, isHdr: false };
  }
}

/**
 * Makes the still picture of an AVIF sequence readable. Such a file has the brand `avis`, which libvips does not open,
 * and contains a still picture for viewers without animation. Returns the same bytes, or a copy with the brand `avif`.
 */
function withStillBrand(input: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const bytes = new ByteReader(input);
  const brands = findIsoBox(bytes, { start: 0, end: bytes.length }, 'ftyp');
  if (brands === undefined || isoBrands(bytes)[0] !== 'avis') return input;
  const copy = new Uint8Array(input);
  copy.set(Buffer.from('avif', 'latin1'), brands.start);
  return copy;
}

/**
 * The end marker. A JPEG that lacks only this marker is completed, because decoders take such a file for a truncated
 * one. Cameras write such files, and so do uploads that stop two bytes early.
 */

const END_OF_IMAGE_BYTES = Buffer.from([0xff, JPEG_MARKERS.endOfImage]);
/**
 * Bytes that contain no marker. Added to the end of a file, they change the picture if the decoder still needs data.
 */
const FILLER_BYTES = Buffer.alloc(64, 0x5a);
/**
 * How many of the last rows are compared to detect a truncated file. This is more than libvips decodes at once. If data
 * of earlier rows is missing, libvips reports it itself.
 */
const COMPARED_LAST_ROWS = 64;
const BLOCK_COEFFICIENTS = 64;

/** Adds the end marker to a file that is complete except for this marker; returns any other file unchanged. */
async function withEndOfImageMarker(input: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const file = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  if (file.subarray(-END_OF_IMAGE_BYTES.length).equals(END_OF_IMAGE_BYTES) || !endsInCompleteScan(file))
    return input;
  // The file may already have the first byte of the end marker.
  const data = file.at(-1) === 0xff ? file.subarray(0, -1) : file;
  const whole = Buffer.concat([data, END_OF_IMAGE_BYTES]);
  const isWhole = await haveSameLastRows(
    whole,
    Buffer.concat([data, FILLER_BYTES, END_OF_IMAGE_BYTES]),
  ).catch(() => false);
  return isWhole ? whole : input;
}

/** Whether the file ends inside a scan, and all bits of every coefficient of every component were sent. */
function endsInCompleteScan(file: Buffer): boolean {
  const bytes = new ByteReader(file);
  const missing = new Map<number, Set<number>>();
  let endsInScan = false;
  for (const { marker, start } of jpegSegments(bytes)) {
    endsInScan = marker === JPEG_MARKERS.startOfScan;
    if (marker === JPEG_MARKERS.endOfImage) return false;
    if (!endsInScan) continue;
    const components = bytes.u8(start);
    const [first, last, bits] = [0, 1, 2].map((at) => bytes.u8(start + 1 + 2 * components + at)) as [
      number,
      number,
      number,
    ];
    for (let index = 0; index < components; index++) {
      const component = bytes.u8(start + 1 + 2 * index);
      const left = missing.get(component) ?? new Set(Array(BLOCK_COEFFICIENTS).keys());
      missing.set(component, left);
      // The low four bits (Al) give the number of bits of each coefficient that later scans still send.
      for (let at = first; at <= last; at++) if ((bits & 0x0f) === 0) left.delete(at);
    }
  }
  return endsInScan && [...missing.values()].every(({ size }) => size === 0);
}

/** Whether a decoder makes the same last rows of both files, and reports no error for the first file. */
async function haveSameLastRows(whole: Buffer, filled: Buffer): Promise<boolean> {
  const rows = await decodeLastRows(whole, 'warning');
  return Buffer.from(rows).equals(await decodeLastRows(filled, 'error'));
}

async function decodeLastRows(file: Buffer, failOn: 'warning' | 'error'): Promise<Uint8Array> {
  const picture = sharp(file, { failOn, limitInputPixels: MAX_PIXELS, ignoreIcc: true });
  const { width, height } = await picture.metadata();
  const rows = Math.min(height, COMPARED_LAST_ROWS);
  const { data } = await encodeLocalOutput(
    picture.extract({ left: 0, top: height - rows, width, height: rows }).raw(),
  );
  return data;
}

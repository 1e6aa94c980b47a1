import { findIsoBox, isoBrands } from '../formats/boxes.ts';
import { ByteReader } from '../formats/bytes.ts';
import type { HeaderReadings, RawPixels } from '../protocol.ts';
import { type ColouredFile, withPngProfile, withReadableAvifColours } from './colour/declared-colours.ts';
import { withReadableTiffSamples } from './colour/tiff-colours.ts';
import { withEndOfImageMarker } from './end-of-image.ts';
import { withoutBulkyTexts } from './metadata/png-guard.ts';
import { withLeadingBlocks } from './metadata/png-order.ts';

/** A file that libvips reads correctly. */
export interface ReadableFile extends ColouredFile {
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
const JPEG_START = 0xff;
const PNG_START = 0x89;
const ISO_BOX_START = 0x00;
const LITTLE_ENDIAN_TIFF_START = 0x49;
const BIG_ENDIAN_TIFF_START = 0x4d;

/**
 * Makes a file readable: drops parts that are costly to read, and rewrites colours and pixels that libvips would
 * misread. Most files are returned unchanged.
 * @param raw describes pixels, which are returned unchanged.
 * @param pictures number of pictures in an AVIF.
 * @param page the page of a TIFF that is read.
 */
export async function makeFileReadable(
  input: Uint8Array<ArrayBuffer>,
  { raw, pictures = 1, page = 0 }: HeaderReadings & { raw?: RawPixels; page?: number } = {},
): Promise<ReadableFile> {
  switch (raw === undefined && input[0]) {
    case PNG_START: {
      const described = withLeadingBlocks(withoutBulkyTexts(input));
      const coloured = await withPngProfile(described);
      return { ...coloured, described, isConverted: coloured.input !== described };
    }
    case ISO_BOX_START: {
      const described = withStillBrand(input);
      const coloured = await withReadableAvifColours(described, pictures);
      return { ...coloured, described, isConverted: coloured.input !== described };
    }
    case LITTLE_ENDIAN_TIFF_START:
    case BIG_ENDIAN_TIFF_START: {
      const plain = await withReadableTiffSamples(input, page);
      return { ...plain, described: plain.input, isConverted: plain.input !== input, isHdr: false };
    }
    case JPEG_START: {
      const whole = await withEndOfImageMarker(input);
      return { input: whole, described: whole, isConverted: false, isHdr: false };
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

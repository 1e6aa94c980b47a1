import { isoBox, isoBrands } from '../formats/boxes.ts';
import { Bytes } from '../formats/bytes.ts';
import type { RawPixels, Readings } from '../protocol.ts';
import { withAvifColours } from './colour/avif-colours.ts';
import { type ColouredFile, withPngProfile } from './colour/png-colours.ts';
import { withPlainSamples } from './colour/tiff-colours.ts';
import { withEndOfImage } from './end-of-image.ts';
import { withoutBulkyTexts } from './metadata/png-guard.ts';
import { withLeadingBlocks } from './metadata/png-order.ts';

/** A file that libvips reads correctly. */
export interface ReadableFile extends ColouredFile {
  /** The file whose facts are described: before its colours were named in another way. */
  described: Uint8Array<ArrayBuffer>;
  /** Whether its pixels or the meaning of its colours were rewritten, so that it is not a result. */
  isConverted: boolean;
  /** Bits of a channel of the file, if they were others before it was converted. */
  bitDepth?: number;
  /** Its former format, if it was converted to another one. */
  formerFormat?: 'avif';
}

/** The first byte of each format; a file of boxes begins with the length of the first, a TIFF with its byte order. */
const JPEG_START = 0xff;
const PNG_START = 0x89;
const ISO_BOX_START = 0x00;
const LITTLE_ENDIAN_TIFF_START = 0x49;
const BIG_ENDIAN_TIFF_START = 0x4d;

/**
 * Makes a file readable: without what is costly to read, and with colours and pixels as libvips understands them. Most
 * files are returned unchanged.
 * @param raw describes pixels, which are returned unchanged.
 * @param pictures number of pictures in an AVIF.
 * @param page the page of a TIFF that is read.
 */
export async function readableFile(
  input: Uint8Array<ArrayBuffer>,
  { raw, pictures = 1, page = 0 }: Readings & { raw?: RawPixels; page?: number } = {},
): Promise<ReadableFile> {
  switch (raw === undefined && input[0]) {
    case PNG_START: {
      const described = withLeadingBlocks(withoutBulkyTexts(input));
      const coloured = await withPngProfile(described);
      return { ...coloured, described, isConverted: coloured.input !== described };
    }
    case ISO_BOX_START: {
      const described = withStillBrand(input);
      const coloured = await withAvifColours(described, pictures);
      return { ...coloured, described, isConverted: coloured.input !== described };
    }
    case LITTLE_ENDIAN_TIFF_START:
    case BIG_ENDIAN_TIFF_START: {
      const plain = await withPlainSamples(input, page);
      return { ...plain, described: plain.input, isConverted: plain.input !== input, isHdr: false };
    }
    case JPEG_START: {
      const whole = await withEndOfImage(input);
      return { input: whole, described: whole, isConverted: false, isHdr: false };
    }
    default:
      return { input, described: input, isConverted: false, isHdr: false };
  }
}

/**
 * Makes the still picture of an AVIF sequence readable. Such a file has the brand `avis`, which libvips does not open,
 * though it contains a still picture for viewers that show no animation. Returns the same bytes, or a copy with the
 * brand `avif`.
 */
function withStillBrand(input: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const bytes = new Bytes(input);
  const brands = isoBox(bytes, { start: 0, end: bytes.length }, 'ftyp');
  if (brands === undefined || isoBrands(bytes)[0] !== 'avis') return input;
  const copy = new Uint8Array(input);
  copy.set(Buffer.from('avif', 'latin1'), brands.start);
  return copy;
}

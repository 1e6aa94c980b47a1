import sharp from 'sharp';
import { ByteReader } from '../../formats/bytes.ts';
import {
  APP0_MARKER,
  APP1_MARKER,
  APP2_MARKER,
  JPEG_MARKER_BYTES,
  type JpegSegment,
  jpegHeadSegments,
} from '../../formats/jpeg.ts';
import { encodeOutput, type PipelineOutput } from '../../transport/output.ts';

/** The density, EXIF and XMP, and the profile. */
const CARRIED = [APP0_MARKER, APP1_MARKER, APP2_MARKER];

let pixel: Promise<PipelineOutput> | undefined;

/**
 * A JPEG of one pixel with the metadata blocks of another JPEG. The codec copies blocks only together with pixels of
 * the same file. It copies them from this file, so that the other file is not decoded again.
 */
export async function makeOnePixelJpegWith(jpeg: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const create = { width: 1, height: 1, channels: 3, background: 'white' } as const;
  pixel ??= encodeOutput(sharp({ create }).jpeg());
  const { data: white } = await pixel;
  const blocks = headOf(jpeg).filter(({ marker }) => CARRIED.includes(marker));
  const own = headOf(white).find(({ marker }) => marker === APP0_MARKER);
  return Buffer.concat([
    white.subarray(0, JPEG_MARKER_BYTES),
    ...blocks.map(({ at, next }) => jpeg.subarray(at, next)),
    white.subarray(own?.next ?? JPEG_MARKER_BYTES),
  ]);
}

function headOf(jpeg: Uint8Array): JpegSegment[] {
  return [...jpegHeadSegments(new ByteReader(jpeg))];
}

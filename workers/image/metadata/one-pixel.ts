import sharp from 'sharp';
import { Bytes } from '../../formats/bytes.ts';
import {
  APP0,
  APP1,
  APP2,
  JPEG_HEAD_BYTES,
  type JpegSegment,
  jpegSegments,
  START_OF_SCAN,
} from '../../formats/jpeg.ts';
import { encodeOutput, type PipelineOutput } from '../../transport/output.ts';

/** The density, EXIF and XMP, and the profile. */
const CARRIED = [APP0, APP1, APP2];

let pixel: Promise<PipelineOutput> | undefined;

/**
 * A JPEG of one pixel with the blocks of another JPEG. The codec carries blocks only with the pixels of their own file;
 * so it carries them with this one, and the file is not decoded again for them.
 */
export async function onePixelWith(jpeg: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const create = { width: 1, height: 1, channels: 3, background: 'white' } as const;
  pixel ??= encodeOutput(sharp({ create }).jpeg());
  const { data: white } = await pixel;
  const blocks = headOf(jpeg).filter(({ marker }) => CARRIED.includes(marker));
  const own = headOf(white).find(({ marker }) => marker === APP0);
  return Buffer.concat([
    white.subarray(0, JPEG_HEAD_BYTES),
    ...blocks.map(({ at, next }) => jpeg.subarray(at, next)),
    white.subarray(own?.next ?? JPEG_HEAD_BYTES),
  ]);
}

/** The segments before the first scan. */
function headOf(jpeg: Uint8Array): JpegSegment[] {
  const head: JpegSegment[] = [];
  for (const segment of jpegSegments(new Bytes(jpeg))) {
    if (segment.marker === START_OF_SCAN) break;
    head.push(segment);
  }
  return head;
}

import { ByteReader } from '../../formats/bytes.ts';
import { type PngChunk, pngChunks, replacePngChunks } from '../../formats/png.ts';

/**
 * Moves EXIF and XMP before the pixels of a PNG. The format allows them anywhere, and some programs write them at the
 * end, where libvips does not look. The first chunk of a kind counts, as in the reader of headers.
 */

const XMP_KEYWORD = 'XML:com.adobe.xmp\0';
const NOTHING = new Uint8Array();

/** Returns the same bytes if EXIF and XMP are where libvips looks, and if the file is not a PNG. */
export function withLeadingBlocks(input: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const bytes = new ByteReader(input);
  const found = new Map<'exif' | 'xmp', PngChunk>();
  let pixelsAt = input.length;
  for (const chunk of pngChunks(bytes)) {
    if (chunk.type === 'IDAT') pixelsAt = Math.min(pixelsAt, chunk.at);
    const kind = kindOf(bytes, chunk);
    if (kind !== undefined && !chunk.truncated && !found.has(kind)) found.set(kind, chunk);
  }
  const late = [...found.values()].filter(({ at }) => at > pixelsAt);
  if (late.length === 0) return input;
  return replacePngChunks(input, ({ at, next }, png) => {
    if (at === pixelsAt)
      return Buffer.concat([...late.map((one) => png.subarray(one.at, one.next)), png.subarray(at, next)]);
    return late.some((one) => one.at === at) ? NOTHING : undefined;
  });
}

function kindOf(bytes: ByteReader, { type, start }: PngChunk): 'exif' | 'xmp' | undefined {
  if (type === 'eXIf') return 'exif';
  const isXmp = type === 'iTXt' && bytes.text(start, XMP_KEYWORD.length) === XMP_KEYWORD;
  return isXmp ? 'xmp' : undefined;
}

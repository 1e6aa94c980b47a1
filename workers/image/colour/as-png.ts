import sharp from 'sharp';
import { MAX_PIXELS } from '../../protocol.ts';
import { encodeOutput } from '../../transport/output.ts';
import { type DeepPixels, type Pixels, readDeepPixels, readPixels } from '../pixels/pixels.ts';

/**
 * Converts a picture to a PNG with all its bits and its metadata. Its colours are not converted. The compression is
 * low, because the PNG is decoded at once.
 * @param isPremultiplied whether the colours are multiplied by alpha. The result has plain colours.
 */
export async function convertToPng(
  file: Uint8Array<ArrayBuffer>,
  isPremultiplied = false,
): Promise<Uint8Array<ArrayBuffer>> {
  const open = () => sharp(file, { failOn: 'error', limitInputPixels: MAX_PIXELS, ignoreIcc: true });
  const isDeep = (await open().metadata()).depth !== 'uchar';
  const space = isDeep ? 'rgb16' : 'srgb';
  const pipeline = open().keepMetadata();
  if (isPremultiplied) {
    const pixels = isDeep ? await readDeepPixels(open()) : await readPixels(open());
    unpremultiplyAlpha(pixels);
    const { data, width, height, channels } = pixels;
    // sharp cannot attach metadata to raw pixels, so the pixels replace those of the file. It accepts any typed array,
    // but its types allow buffers only.
    const input = data as Uint8Array as Buffer;
    pipeline.pipelineColourspace(space);
    pipeline.composite([{ input, raw: { width, height, channels }, blend: 'source', left: 0, top: 0 }]);
  }
  return (await encodeOutput(pipeline.toColourspace(space).png({ compressionLevel: 1 }))).data;
}

/**
 * Divides the colours of RGBA pixels by their alpha, in place; other pixels stay. Colours with an alpha of 0 become
 * black.
 */
export function unpremultiplyAlpha({ data, channels }: Pick<Pixels | DeepPixels, 'data' | 'channels'>): void {
  if (channels !== 4) return;
  const most = 256 ** data.BYTES_PER_ELEMENT - 1;
  for (let at = 0; at < data.length; at += 4) {
    const alpha = data[at + 3] as number;
    if (alpha === most) continue;
    const factor = alpha === 0 ? 0 : most / alpha;
    for (let channel = at; channel < at + 3; channel++)
      data[channel] = Math.min(most, Math.round((data[channel] as number) * factor));
  }
}

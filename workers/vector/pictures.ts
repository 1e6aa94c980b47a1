import sharp from 'sharp';
import { hasSrgbProfile } from '../image/colour/srgb-profile.ts';
import { openStillPicture } from '../image/input.ts';
import { makeFileReadable } from '../image/readable.ts';
import type { TaskFailure } from '../protocol.ts';
import { encodeOutput } from '../transport/output.ts';
import { RASTER_START } from './data-url.ts';
import type { EmbeddedPicture } from './drawing.ts';

/** The raster pictures inside of a drawing. */

/**
 * The failure of a drawing with an embedded picture that is larger than a picture may be. Decoding it would take all of
 * the memory or time. A picture that cannot be read is left to the renderer, which omits it.
 */
export async function tooLargePictureFailure(
  pictures: readonly EmbeddedPicture[],
  limit: number,
): Promise<TaskFailure | undefined> {
  for (const { file } of pictures) {
    const header = sharp(file, { limitInputPixels: false }).metadata();
    const { width, height } = await header.catch(() => ({ width: 0, height: 0 }));
    if (width * height <= limit) continue;
    return {
      kind: 'failure',
      code: 'unsupported_format',
      message: `A picture in the drawing has ${width} × ${height} pixels, and at most ${limit} are read: embed a smaller one.`,
      details: { limit, received: width * height },
    };
  }
  return undefined;
}

/** Matches the first bytes of the pictures that the renderer draws: PNG and JPEG. */
const DRAWN_PICTURE_START = /^(?:\x89PNG|\xff\xd8\xff)/;

/**
 * Converts the pictures that the renderer would not draw as browsers do to upright PNGs in sRGB, and returns their new
 * `data:` URLs, keyed by the old ones. An animation becomes its first frame. A picture that cannot be read is left out.
 */
export async function convertToPngAddresses(
  pictures: readonly EmbeddedPicture[],
): Promise<Map<string, string>> {
  const addresses = new Map<string, string>();
  for (const [address, file] of new Map(pictures.map(({ address, file }) => [address, file]))) {
    if (!RASTER_START.test(firstBytesOf(file))) continue;
    const png = await convertToPlainPng(new Uint8Array(file)).catch(() => undefined);
    if (png !== undefined)
      addresses.set(address, `data:image/png;base64,${Buffer.from(png).toString('base64')}`);
  }
  return addresses;
}

/** An upright PNG in sRGB of a picture; undefined if the renderer draws the picture as browsers do. */
async function convertToPlainPng(file: Uint8Array<ArrayBuffer>): Promise<Uint8Array | undefined> {
  if (DRAWN_PICTURE_START.test(firstBytesOf(file)) && (await isPlainPicture(file))) return undefined;
  const [opened] = await openStillPicture(file);
  return (await encodeOutput(opened.png({ compressionLevel: 1 }))).data;
}

/** Whether the pixels of a picture are upright and in sRGB as they are stored. The renderer draws them so. */
async function isPlainPicture(file: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const { input, isConverted } = await makeFileReadable(file);
  const { orientation = 1, hasProfile, space } = await sharp(input).metadata();
  return !isConverted && orientation === 1 && space !== 'cmyk' && (!hasProfile || hasSrgbProfile(input));
}

function firstBytesOf(file: Uint8Array): string {
  return Buffer.from(file.subarray(0, 12)).toString('latin1');
}

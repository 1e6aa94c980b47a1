import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import sharp from 'sharp';
import type { BenchPicture } from './suite.ts';

const MEDIA_TYPES: Record<string, string> = {
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.gif': 'image/gif',
  '.avif': 'image/avif',
  '.tif': 'image/tiff',
  '.tiff': 'image/tiff',
};
/** Largest body of a synchronous call, in bytes. */
const MAX_BYTES = 25 * 1024 * 1024;

/**
 * The pictures of a folder, or the built-in ones that every machine has. They are sorted by name, so that all runs use
 * them in the same order.
 */
export async function readPictures(folder: string): Promise<BenchPicture[]> {
  if (folder === '') return ownPictures();
  const pictures = readdirSync(folder)
    .sort()
    .flatMap((name) => {
      const type = MEDIA_TYPES[extname(name).toLowerCase()];
      if (type === undefined) return [];
      const bytes = readFileSync(join(folder, name));
      return bytes.length > MAX_BYTES ? [] : [{ name, type, bytes }];
    });
  if (pictures.length === 0)
    throw new Error(`${folder} holds no picture of ${Object.keys(MEDIA_TYPES).join(', ')} below 25 MB.`);
  return pictures;
}

/**
 * A camera photograph of 12 megapixels, a web page's picture, a graphic and a small picture, made from one photograph.
 */
async function ownPictures(): Promise<BenchPicture[]> {
  const photo = await photograph();
  const sized = (width: number, height: number) => sharp(photo).resize(width, height, { fit: 'cover' });
  return [
    {
      name: 'camera.jpg',
      type: 'image/jpeg',
      bytes: await sized(4000, 3000).jpeg({ quality: 90 }).toBuffer(),
    },
    { name: 'page.jpg', type: 'image/jpeg', bytes: await sized(1600, 1200).jpeg({ quality: 85 }).toBuffer() },
    { name: 'graphic.png', type: 'image/png', bytes: await sized(1152, 868).png().toBuffer() },
    { name: 'small.jpg', type: 'image/jpeg', bytes: await sized(200, 150).jpeg({ quality: 85 }).toBuffer() },
  ];
}

const CAMERA_BYTES = { least: 3e6, most: 8e6 };

/** The files of 3 to 8 MB among the pictures, as cameras write them; if there are none, three generated ones. */
export async function cameraFiles(pictures: readonly BenchPicture[]): Promise<readonly BenchPicture[]> {
  const { least, most } = CAMERA_BYTES;
  const own = pictures.filter(({ bytes }) => bytes.length >= least && bytes.length <= most);
  if (own.length > 0) return own;
  const photo = await photograph();
  const made = async (width: number, height: number, quality: number): Promise<BenchPicture> => ({
    name: `camera of ${Math.round((width * height) / 1e6)} megapixels`,
    type: 'image/jpeg',
    bytes: await sharp(photo).resize(width, height, { fit: 'cover' }).jpeg({ quality }).toBuffer(),
  });
  return [await made(4000, 3000, 97), await made(5200, 3900, 97), await made(6000, 4000, 98)];
}

/** A shared camera photograph if it exists, else a picture with as much detail. */
export async function photograph(): Promise<Buffer> {
  try {
    return readFileSync(join(import.meta.dirname, '../../../shared/images/photos/nikon-d90.jpg'));
  } catch {
    const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const;
    return sharp({ create: { width: 4000, height: 3000, channels: 3, background: '#888', noise } })
      .blur(2)
      .jpeg({ quality: 95 })
      .toBuffer();
  }
}

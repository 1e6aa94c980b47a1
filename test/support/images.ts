import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import type { Test } from 'tap';
import { replacePngChunks } from '../../workers/formats/png.ts';

const FOLDER = join(import.meta.dirname, '../../../shared/images');

/** The shared images lie beside the project; without them the tests that need them are skipped with a message. */
export const hasImages = existsSync(FOLDER);

/** Options for a test that reads shared images: skipped loudly where they are absent, failed when CI=true. */
export function needsImages(t: Test): { skip: string | false } {
  if (hasImages) return { skip: false };
  if (process.env.CI === 'true') t.fail('the shared images are absent (../shared/images)');
  return { skip: 'the shared images are absent (../shared/images)' };
}

/** Bytes of one image, in their own buffer. */
export function image(name: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(join(FOLDER, name)));
}

/** A PNG without its gamma, whose numbers then are sRGB, as sharp takes those of every PNG. */
export function withoutGamma(png: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return replacePngChunks(png, ({ type }) => (type === 'gAMA' ? new Uint8Array() : undefined));
}

/** Names of the images in a folder, such as `photos/kodak-01.png`. */
export function imagesIn(folder: string): string[] {
  return readdirSync(join(FOLDER, folder))
    .sort()
    .map((name) => `${folder}/${name}`);
}

/** The media type that a file's extension names. */
export function typeOf(name: string): string {
  const extension = name.split('.').at(-1)?.toLowerCase() ?? '';
  const types: Record<string, string> = { jpg: 'image/jpeg', svg: 'image/svg+xml', tif: 'image/tiff' };
  return types[extension] ?? `image/${extension}`;
}

/** A PNG of 32 by 32 px in one colour, for tests that need any image. */
export async function redSquare(): Promise<Uint8Array<ArrayBuffer>> {
  const create = { width: 32, height: 32, channels: 3, background: 'red' } as const;
  return new Uint8Array(await sharp({ create }).png().toBuffer());
}

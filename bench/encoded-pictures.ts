import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { performImageTask } from '../workers/image/perform.ts';
import type { EncodeOptions, TransformTaskResult } from '../workers/protocol.ts';
import type { RasterPicture } from './encoder-tools.ts';
import { photograph } from './photograph.ts';

/** Width of the pictures: enough for real detail, small enough for a suite. */
export const WIDTH_PX = 768;
const DEADLINE_MS = 600_000;

/** The result of a pass that only encodes, run in this thread. */
export async function encoded({ png }: RasterPicture, encode: EncodeOptions): Promise<TransformTaskResult> {
  const pass = { decode: {}, steps: [], encode };
  const deadlineMs = Date.now() + DEADLINE_MS;
  const result = await performImageTask({ kind: 'transform', input: new Uint8Array(png), pass, deadlineMs });
  if (result.kind !== 'transformed') throw new Error(`The pass ended as ${JSON.stringify(result)}.`);
  return result;
}

/** The small photographs of the shared folder by name, if it exists, else one made from the bench's own photograph. */
export async function photographs(widthPx = WIDTH_PX): Promise<Record<string, RasterPicture>> {
  const folder = join(import.meta.dirname, '../../shared/images/photos');
  if (!existsSync(folder)) return { photograph: await readPicture(await photograph(), widthPx) };
  return picturesIn(folder, widthPx, '.png');
}

/** The pictures of each folder within a folder, by the names of folder and file. */
export async function pictureSets(
  folder: string,
  widthPx: number,
): Promise<Record<string, Record<string, RasterPicture>>> {
  const sets: Record<string, Record<string, RasterPicture>> = {};
  for (const name of readdirSync(folder).sort()) sets[name] = await picturesIn(join(folder, name), widthPx);
  return sets;
}

async function picturesIn(
  folder: string,
  widthPx: number,
  ending = '',
): Promise<Record<string, RasterPicture>> {
  const pictures: Record<string, RasterPicture> = {};
  for (const name of readdirSync(folder).sort())
    if (name.endsWith(ending)) pictures[name] = await readPicture(readFileSync(join(folder, name)), widthPx);
  return pictures;
}

/** A file's pixels, at most this wide and on white, and the same as a PNG with its transparency. */
export async function readPicture(file: Uint8Array, widthPx = WIDTH_PX): Promise<RasterPicture> {
  const opened = sharp(file)
    .autoOrient()
    .resize({ width: widthPx, withoutEnlargement: true })
    .toColourspace('srgb');
  const { data, info } = await opened
    .clone()
    .flatten({ background: 'white' })
    .raw()
    .toBuffer({ resolveWithObject: true });
  return {
    data,
    width: info.width,
    height: info.height,
    channels: info.channels,
    png: await opened.png({ compressionLevel: 1 }).toBuffer(),
  };
}

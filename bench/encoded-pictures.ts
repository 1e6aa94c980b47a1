import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { perform } from '../workers/image/perform.ts';
import type { Encode, Transformed } from '../workers/protocol.ts';
import type { Picture } from './encoder-tools.ts';
import { photograph } from './photograph.ts';

/** Width of the pictures: enough for real detail, small enough for a suite. */
export const WIDTH_PX = 768;
const DEADLINE_MS = 600_000;

/** The result of a pass that only encodes, run in this thread. */
export async function encoded({ png }: Picture, encode: Encode): Promise<Transformed> {
  const pass = { decode: {}, steps: [], encode };
  const deadlineMs = Date.now() + DEADLINE_MS;
  const result = await perform({ kind: 'transform', input: new Uint8Array(png), pass, deadlineMs });
  if (result.kind !== 'transformed') throw new Error(`The pass ended as ${JSON.stringify(result)}.`);
  return result;
}

/** The small photographs of the shared folder where it exists, else one made from the bench's own photograph. */
export async function photographs(): Promise<Picture[]> {
  const folder = join(import.meta.dirname, '../../shared/images/photos');
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith('.png'));
    return await Promise.all(names.map((name) => pictureOf(readFileSync(join(folder, name)))));
  } catch {
    return [await pictureOf(await photograph())];
  }
}

/** A file's pixels at the measured width. */
export async function pictureOf(file: Uint8Array): Promise<Picture> {
  const opened = sharp(file).resize({ width: WIDTH_PX, withoutEnlargement: true }).removeAlpha();
  const { data, info } = await opened.clone().raw().toBuffer({ resolveWithObject: true });
  return {
    data,
    width: info.width,
    height: info.height,
    channels: info.channels,
    png: await opened.png({ compressionLevel: 1 }).toBuffer(),
  };
}

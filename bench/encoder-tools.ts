import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import type { PixelRaster } from '../workers/image/likeness/levels.ts';
import { performImageTask } from '../workers/image/perform.ts';
import type { EncodeOptions, TransformTaskResult } from '../workers/protocol.ts';
import { photograph } from './load/pictures.ts';

/** RGB pixels, and the same picture as a file. */
export interface RasterPicture extends PixelRaster {
  png: Buffer;
}

interface EncoderTool {
  /** The program, with its fixed options. */
  program: [command: string, ...options: string[]];
  /** Its qualities, from the smallest file to the largest. */
  qualities: readonly number[];
  command(quality: number, picture: string, result: string): string[];
  /** The format of the pictures that it reads. */
  reads: 'ppm' | 'png';
}

const range = (first: number, last: number, step: number) =>
  Array.from({ length: 1 + Math.floor((last - first) / step) }, (_, index) => first + index * step);

/** The programs that come with the libraries of the formats, called as their users call them. */
export const TOOLS = {
  jpeg: {
    program: ['cjpeg', '-progressive'],
    qualities: range(10, 98, 2),
    command: (quality, picture, result) => ['-quality', String(quality), '-outfile', result, picture],
    reads: 'ppm',
  },
  webp: {
    program: ['cwebp', '-quiet', '-m', '6'],
    qualities: range(10, 98, 2),
    command: (quality, picture, result) => ['-q', String(quality), picture, '-o', result],
    reads: 'png',
  },
  avif: {
    program: ['avifenc', '-s', '6', '-j', '1'],
    qualities: range(6, 60, 2).reverse(),
    command: (quality, picture, result) => [
      ...['--min', '0', '--max', '63', '-a', 'end-usage=q', '-a', `cq-level=${quality}`],
      picture,
      result,
    ],
    reads: 'png',
  },
} satisfies Record<string, EncoderTool>;
export type ToolFormat = keyof typeof TOOLS;

interface MeasuredSize {
  bytes: number;
  value: number;
}

/** Files of a tool that were already measured, by picture. */
const measuredFiles = new WeakMap<RasterPicture, Map<string, Uint8Array>>();

export function isInstalled(format: ToolFormat): boolean {
  try {
    execFileSync('which', [TOOLS[format].program[0]], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/**
 * The file size that a tool needs for a picture at a likeness. It is interpolated between the two nearest qualities, on
 * a logarithmic scale of the size.
 */
export async function sizeByTool(
  format: ToolFormat,
  picture: RasterPicture,
  likeness: number,
  measure: (file: Uint8Array) => Promise<number>,
): Promise<number> {
  const { qualities } = TOOLS[format];
  const pointAt = async (index: number): Promise<MeasuredSize> => {
    const file = toolFile(format, picture, qualities[index] as number);
    return { bytes: file.byteLength, value: await measure(file) };
  };
  let [low, high] = [0, qualities.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((await pointAt(middle)).value < likeness) low = middle;
    else high = middle;
  }
  const [below, above] = [await pointAt(low), await pointAt(high)];
  const share = (likeness - below.value) / (above.value - below.value);
  return Math.exp(Math.log(below.bytes) + share * Math.log(above.bytes / below.bytes));
}

function toolFile(format: ToolFormat, picture: RasterPicture, quality: number): Uint8Array {
  const files = measuredFiles.get(picture) ?? new Map<string, Uint8Array>();
  measuredFiles.set(picture, files);
  const key = `${format} ${quality}`;
  const file = files.get(key) ?? encodeByTool(TOOLS[format], picture, quality);
  files.set(key, file);
  return file;
}

function encodeByTool(
  { program, command, reads }: EncoderTool,
  picture: RasterPicture,
  quality: number,
): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), 'encoder-'));
  try {
    const [source, result] = [join(folder, `picture.${reads}`), join(folder, 'result.avif')] as const;
    writeFileSync(source, reads === 'png' ? picture.png : ppmOf(picture));
    const [name, ...options] = program;
    execFileSync(name, [...options, ...command(quality, source, result)], { stdio: 'ignore' });
    return readFileSync(result);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The simplest pixel format, which cjpeg reads. */
function ppmOf({ data, width, height }: RasterPicture): Buffer {
  return Buffer.concat([Buffer.from(`P6\n${width} ${height}\n255\n`), data]);
}

/** Width of the pictures: enough for real detail, small enough for a suite. */
export const WIDTH_PX = 768;
const DEADLINE_MS = 600_000;

/** The result of a pass that only encodes, run in this thread. */
export async function encodeByService(
  { png }: RasterPicture,
  encode: EncodeOptions,
): Promise<TransformTaskResult> {
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

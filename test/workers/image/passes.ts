import sharp from 'sharp';
import { blockUnusedLoaders } from '../../../workers/image/input.ts';
import { performTransformTask } from '../../../workers/image/pipeline.ts';
import type {
  EncodeOptions,
  ImagePass,
  OperationStep,
  TaskFailure,
  TransformTask,
  TransformTaskResult,
} from '../../../workers/protocol.ts';

blockUnusedLoaders();

export type StepText = [operation: string, params?: Record<string, unknown>];

/** A pass of these steps. */
export function passOf(
  steps: StepText[],
  encode: EncodeOptions = {},
  decode: ImagePass['decode'] = {},
): ImagePass {
  return {
    decode,
    encode,
    steps: steps.map(([operation, params = {}]): OperationStep => ({ operation, params })),
  };
}

export function run(
  input: Uint8Array,
  pass: ImagePass,
  more: Partial<TransformTask> = {},
): Promise<TransformTaskResult | TaskFailure> {
  const deadlineMs = Date.now() + 60_000;
  return performTransformTask({ kind: 'transform', input: new Uint8Array(input), pass, deadlineMs, ...more });
}

/** Runs a pass that must succeed. */
export async function made(
  input: Uint8Array,
  pass: ImagePass,
  more: Partial<TransformTask> = {},
): Promise<TransformTaskResult> {
  const result = await run(input, pass, more);
  if (result.kind === 'failure') throw new Error(`${result.code} on ${result.param}: ${result.message}`);
  return result;
}

/** Runs a pass that must fail. */
export async function refused(
  input: Uint8Array,
  pass: ImagePass,
  more: Partial<TransformTask> = {},
): Promise<TaskFailure> {
  const result = await run(input, pass, more);
  if (result.kind === 'transformed') throw new Error('the pass succeeded');
  return result;
}

export interface Raster {
  data: Uint8Array;
  width: number;
  height: number;
  /** RGBA of a pixel. */
  at(x: number, y: number): number[];
}

/** Decodes an encoded picture, or all frames of an animation as one strip, to RGBA. */
export async function raster(file: Uint8Array): Promise<Raster> {
  const decoder = sharp(file, { pages: -1 }).toColourspace('srgb').ensureAlpha().raw();
  const { data, info } = await decoder.toUint8Array();
  const at = (x: number, y: number) => [
    ...data.subarray((y * info.width + x) * 4, (y * info.width + x) * 4 + 4),
  ];
  return { data, width: info.width, height: info.height, at };
}

/** What writes a picture losslessly and soonest. */
export const LOSSLESS: EncodeOptions = { format: 'png', effort: 0 };

/** Steps on a picture, written losslessly and read again. */
export async function rasterOf(
  input: Uint8Array,
  steps: StepText[],
  more: Partial<TransformTask> = {},
): Promise<Raster> {
  return raster((await made(input, passOf(steps, LOSSLESS), more)).data);
}

/** A PNG whose pixels a function gives. */
export async function drawn(
  width: number,
  height: number,
  pixel: (x: number, y: number) => number[],
): Promise<Uint8Array> {
  const first = pixel(0, 0);
  const channels = first.length as 1 | 2 | 3 | 4;
  const data = new Uint8Array(width * height * channels);
  data.set(first);
  for (let index = 1; index < width * height; index += 1)
    data.set(pixel(index % width, Math.floor(index / width)), index * channels);
  return sharp(data, { raw: { width, height, channels } })
    .png()
    .toUint8Array()
    .then((file) => file.data);
}

export const RED = [255, 0, 0, 255];
export const GREEN = [0, 255, 0, 255];
export const BLUE = [0, 0, 255, 255];
export const WHITE = [255, 255, 255, 255];
export const BLACK = [0, 0, 0, 255];
export const CLEAR = [0, 0, 0, 0];

/** Four quarters: red, green over blue, white. */
export function quarters(width: number, height: number): Promise<Uint8Array> {
  return drawn(width, height, (x, y) => {
    const column = x < width / 2 ? 0 : 1;
    const row = y < height / 2 ? 0 : 1;
    return ([RED, GREEN, BLUE, WHITE][row * 2 + column] as number[]).slice(0, 3);
  });
}

/** The largest difference of any channel. */
export function difference(a: Raster, b: Raster): number {
  if (a.width !== b.width || a.height !== b.height) return Number.POSITIVE_INFINITY;
  let largest = 0;
  for (let index = 0; index < a.data.length; index += 1)
    largest = Math.max(largest, Math.abs((a.data[index] as number) - (b.data[index] as number)));
  return largest;
}

/** The mean difference of the channels. */
export function meanDifference(a: Raster, b: Raster): number {
  if (a.width !== b.width || a.height !== b.height) return Number.POSITIVE_INFINITY;
  let sum = 0;
  for (let index = 0; index < a.data.length; index += 1)
    sum += Math.abs((a.data[index] as number) - (b.data[index] as number));
  return sum / a.data.length;
}

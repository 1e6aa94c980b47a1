import sharp, { type Sharp } from 'sharp';
import { encodeOutput } from '../transport/output.ts';
import { drawPlaceholder } from './drawing.ts';
import { measure } from './measures.ts';
import type { SandboxResult, SandboxTask } from './protocol.ts';

/** This thread runs the sandbox models. It is started with the first use of one. */

sharp.concurrency(1);
sharp.cache(false);

/** Largest difference of any channel from the corner's pixel at which a pixel counts as background. */
const BACKGROUND_TOLERANCE = 32;

/** Performs one task with real image processing. The same task always gives the same bytes. */
export default async function run(task: SandboxTask): Promise<SandboxResult> {
  if (task.kind === 'measure') return { measures: await measure(task.picture) };
  return { png: await drawPicture(task) };
}

function drawPicture(task: Exclude<SandboxTask, { kind: 'measure' }>): Promise<Uint8Array<ArrayBuffer>> {
  switch (task.kind) {
    case 'draw':
      return drawPlaceholder(task);
    case 'recolour':
      return encodePng(sharp(task.picture).modulate({ hue: hueOf(task.seed), saturation: 1.15 }));
    case 'enlarge':
      return enlarged(task.picture, task.scale);
    case 'expand': {
      const { picture, top, right, bottom, left } = task;
      return encodePng(sharp(picture).extend({ top, right, bottom, left, extendWith: 'mirror' }));
    }
    case 'cut-out':
      return cutOut(task.picture);
  }
}

/** The hue rotation in degrees, never near 0, so that the edit is visible. */
function hueOf(seed: number): number {
  return 60 + (seed % 241);
}

async function enlarged(picture: Uint8Array, scale: number): Promise<Uint8Array<ArrayBuffer>> {
  const { width, height } = await sharp(picture).metadata();
  const larger = sharp(picture).resize(width * scale, height * scale, { kernel: 'lanczos3', fit: 'fill' });
  return encodePng(larger.sharpen());
}

/** Makes every pixel transparent that is like the top left one, wherever it lies. */
async function cutOut(picture: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const { data, info } = await encodeOutput(sharp(picture).ensureAlpha().toColourspace('srgb').raw());
  const [red, green, blue] = data.subarray(0, 3) as unknown as [number, number, number];
  for (let at = 0; at < data.length; at += 4) {
    const far = Math.max(
      Math.abs((data[at] as number) - red),
      Math.abs((data[at + 1] as number) - green),
      Math.abs((data[at + 2] as number) - blue),
    );
    if (far <= BACKGROUND_TOLERANCE) data[at + 3] = 0;
  }
  const { width, height } = info;
  return encodePng(sharp(data, { raw: { width, height, channels: 4 } }));
}

async function encodePng(pipeline: Sharp): Promise<Uint8Array<ArrayBuffer>> {
  return (await encodeOutput(pipeline.png({ compressionLevel: 6 }))).data;
}

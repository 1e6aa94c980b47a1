import sharp, { type Sharp } from 'sharp';
import { outputOf } from '../transport/output.ts';
import { draw } from './drawing.ts';
import { measure } from './measures.ts';
import type { SandboxResult, SandboxTask } from './protocol.ts';

/** Runs in a thread of its own, started with the first use of a sandbox model. */

sharp.concurrency(1);
sharp.cache(false);

/** How far a pixel may be from the corner's in any channel to count as background. */
const LIKE_THE_CORNER = 32;

/** Does one task: real image processing, and the same bytes for the same task. */
export default async function run(task: SandboxTask): Promise<SandboxResult> {
  switch (task.kind) {
    case 'draw':
      return { png: await draw(task) };
    case 'measure':
      return { measures: await measure(task.picture) };
    case 'recolour':
      return { png: await pngOf(sharp(task.picture).modulate({ hue: hueOf(task.seed), saturation: 1.15 })) };
    case 'enlarge':
      return { png: await enlarged(task) };
    case 'expand': {
      const { picture, top, right, bottom, left } = task;
      return { png: await pngOf(sharp(picture).extend({ top, right, bottom, left, extendWith: 'mirror' })) };
    }
    case 'cut-out':
      return { png: await cutOut(task.picture) };
  }
}

/** Never near to no turn at all: an edit can be seen. */
function hueOf(seed: number): number {
  return 60 + (seed % 241);
}

async function enlarged({
  picture,
  scale,
}: {
  picture: Uint8Array;
  scale: number;
}): Promise<Uint8Array<ArrayBuffer>> {
  const { width, height } = await sharp(picture).metadata();
  const larger = sharp(picture).resize(width * scale, height * scale, { kernel: 'lanczos3', fit: 'fill' });
  return pngOf(larger.sharpen());
}

/** Pixels like the top left one's become transparent, wherever they are. */
async function cutOut(picture: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const { data, info } = await outputOf(sharp(picture).ensureAlpha().toColourspace('srgb').raw());
  const [red, green, blue] = data.subarray(0, 3) as unknown as [number, number, number];
  for (let at = 0; at < data.length; at += 4) {
    const far = Math.max(
      Math.abs((data[at] as number) - red),
      Math.abs((data[at + 1] as number) - green),
      Math.abs((data[at + 2] as number) - blue),
    );
    if (far <= LIKE_THE_CORNER) data[at + 3] = 0;
  }
  const { width, height } = info;
  return pngOf(sharp(data, { raw: { width, height, channels: 4 } }));
}

async function pngOf(pipeline: Sharp): Promise<Uint8Array<ArrayBuffer>> {
  return (await outputOf(pipeline.png({ compressionLevel: 6 }))).data;
}

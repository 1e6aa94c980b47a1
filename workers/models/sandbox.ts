import sharp, { type Sharp } from 'sharp';
import { escapeMarkup, withoutControlCharacters } from '../image/markup.ts';
import { encodeOutput } from '../transport/output.ts';
import type { SandboxTask } from './protocol.ts';
import { seededRandom } from './random.ts';

/** This thread runs the sandbox models. It is started with the first use of one. */

sharp.concurrency(1);
sharp.cache(false);

/** The largest difference in any channel between a background pixel and the pixel of the corner. */
const BACKGROUND_TOLERANCE = 32;

/** Performs one task with real image processing. The same task always gives the same bytes of a PNG. */
export default async function runSandboxTask(task: SandboxTask): Promise<Uint8Array<ArrayBuffer>> {
  switch (task.kind) {
    case 'draw':
      return encodePng(await drawText(task));
    case 'recolour':
      // The hue is rotated by 60 to 300 degrees, so that the edit is visible.
      return encodePng(sharp(task.picture).modulate({ hue: 60 + (task.seed % 241), saturation: 1.15 }));
    case 'enlarge':
      return enlargePicture(task.picture, task.scale);
    case 'expand': {
      const { picture, top, right, bottom, left } = task;
      return encodePng(sharp(picture).extend({ top, right, bottom, left, extendWith: 'mirror' }));
    }
    case 'cut-out':
      return cutOutBackground(task.picture);
  }
}

const MAX_DRAWN_CHARACTERS = 400;
/** The lightest tone (of 255) of the background on which white letters are readable. */
const MAX_BACKGROUND_TONE = 150;
/** The share of the width and of the height that the text may fill. */
const MAX_TEXT_SHARE_OF_EDGE = 0.8;
/** Matches a character that can be drawn. Nothing is drawn for a text without such a character. */
const VISIBLE_CHARACTER = /[^\s\p{Cf}]/u;

/** Draws the text in white, as large as it fits, on a gradient of two colours that the seed decides. */
async function drawText(task: Extract<SandboxTask, { kind: 'draw' }>): Promise<Sharp> {
  const { text, seed, width, height } = task;
  const random = seededRandom(seed);
  const endColours = Uint8Array.from({ length: 6 }, () => MAX_BACKGROUND_TONE * random());
  const endPixels = sharp(endColours, { raw: { width: 1, height: 2, channels: 3 } });
  const gradient = endPixels.resize(width, height, { fit: 'fill', kernel: 'linear' });
  const words = [...withoutControlCharacters(text).trim()].slice(0, MAX_DRAWN_CHARACTERS).join('');
  if (!VISIBLE_CHARACTER.test(words)) return gradient;
  const available = {
    width: Math.round(width * MAX_TEXT_SHARE_OF_EDGE),
    height: Math.round(height * MAX_TEXT_SHARE_OF_EDGE),
  };
  const markup = `<span foreground="white" insert_hyphens="false">${escapeMarkup(words)}</span>`;
  const layout = { font: 'sans bold', align: 'centre', wrap: 'word-char', rgba: true } as const;
  const letters = sharp({ text: { text: markup, ...available, ...layout } });
  // Without this limit, a single letter would become larger than its space.
  const fitted = letters.resize({ ...available, fit: 'inside', withoutEnlargement: true });
  return gradient.composite([{ input: Buffer.from(await encodePng(fitted)) }]).removeAlpha();
}

async function enlargePicture(picture: Uint8Array, scale: number): Promise<Uint8Array<ArrayBuffer>> {
  const { width, height } = await sharp(picture).metadata();
  const larger = sharp(picture).resize(width * scale, height * scale, { kernel: 'lanczos3', fit: 'fill' });
  return encodePng(larger.sharpen());
}

/** Makes every pixel transparent that is similar to the top left one, wherever it lies. */
async function cutOutBackground(picture: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const { data, info } = await encodeOutput(sharp(picture).ensureAlpha().toColourspace('srgb').raw());
  const [red, green, blue] = data.subarray(0, 3) as unknown as [number, number, number];
  for (let at = 0; at < data.length; at += 4) {
    const difference = Math.max(
      Math.abs((data[at] as number) - red),
      Math.abs((data[at + 1] as number) - green),
      Math.abs((data[at + 2] as number) - blue),
    );
    if (difference <= BACKGROUND_TOLERANCE) data[at + 3] = 0;
  }
  const { width, height } = info;
  return encodePng(sharp(data, { raw: { width, height, channels: 4 } }));
}

async function encodePng(pipeline: Sharp): Promise<Uint8Array<ArrayBuffer>> {
  return (await encodeOutput(pipeline.png({ compressionLevel: 6 }))).data;
}

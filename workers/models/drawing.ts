import sharp, { type OverlayOptions } from 'sharp';
import { escaped } from '../image/markup.ts';
import { encodeOutput } from '../transport/output.ts';
import { seeded } from './random.ts';

/** A picture to draw: a text on a background whose colours the seed decides. */
interface TextPicture {
  text: string;
  seed: number;
  width: number;
  height: number;
}

const MAX_TEXT_CHARACTERS = 400;

/** Draws the text in white with a shadow, on a gradient of two colours. PNG. */
export async function drawPlaceholder(drawing: TextPicture): Promise<Uint8Array<ArrayBuffer>> {
  const { width, height } = drawing;
  const ground = sharp(backgroundPixels(drawing), { raw: { width, height, channels: 3 } });
  const layers = await drawLetters(drawing);
  return (await encodeOutput(ground.composite(layers).removeAlpha().png({ compressionLevel: 6 }))).data;
}

type Rgb = readonly [number, number, number];

/** Two colours from corner to corner, pixel by pixel: the image threads block the SVG loader of libvips. */
function backgroundPixels({ seed, width, height }: TextPicture): Uint8Array {
  const random = seeded(seed);
  const hue = 360 * random();
  const [light, dark] = [rgbOf(hue, 0.55, 0.46), rgbOf(hue + 20 + 60 * random(), 0.6, 0.26)];
  const data = new Uint8Array(width * height * 3);
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const share = (x / width + y / height) / 2;
      for (let channel = 0; channel < 3; channel++) {
        const [from, to] = [light[channel] as number, dark[channel] as number];
        data[at++] = from + (to - from) * share;
      }
    }
  }
  return data;
}

/** The colour of a hue in degrees, with saturation and lightness from 0 to 1 (CSS Color 4, section 7). */
function rgbOf(hue: number, saturation: number, lightness: number): Rgb {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  const channel = (offset: number) => {
    const sector = (offset + hue / 30 + 12) % 12;
    return 255 * (lightness - reach * Math.max(-1, Math.min(sector - 3, 9 - sector, 1)));
  };
  return [channel(0), channel(8), channel(4)];
}

/** The text as large as it fits, centred, with its shadow below it. */
async function drawLetters({ text, width, height }: TextPicture): Promise<OverlayOptions[]> {
  const words = printable(text);
  if (words === '') return [];
  const room = { width: Math.round(width * 0.84), height: Math.round(height * 0.76) };
  const size = sizeFor(words, room);
  const markup = `<span insert_hyphens="false">${escaped(words)}</span>`;
  const layout = {
    font: `sans bold ${size}`,
    width: room.width,
    dpi: 72,
    wrap: 'word-char',
    align: 'centre',
  } as const;
  const letters = sharp({ text: { text: markup, ...layout } }).toColourspace('b-w');
  const fitted = letters.resize({ ...room, fit: 'inside', withoutEnlargement: true });
  const { data: mask, info } = await encodeOutput(fitted.raw());
  const left = Math.max(0, Math.round((width - info.width) / 2));
  const top = Math.max(0, Math.round((height - info.height) / 2));
  const shift = Math.max(1, Math.round(size / 16));
  const raw = { width: info.width, height: info.height, channels: 4 as const };
  const fits = left + shift + info.width <= width && top + shift + info.height <= height;
  return [
    ...(fits ? [{ input: inked(mask, 0, 0.45), raw, left: left + shift, top: top + shift }] : []),
    { input: inked(mask, 255, 1), raw, left, top },
  ];
}

/**
 * Font size at which the text fills the box: each letter takes about 0.7 by 1.25 of the size, and no word of usual
 * length is broken.
 */
function sizeFor(words: string, room: { width: number; height: number }): number {
  const longestWord = Math.min(20, Math.max(...words.split(/\s+/).map((word) => word.length)));
  const filling = Math.sqrt((room.width * room.height) / (words.length * 0.75)) * 0.8;
  const size = Math.min(filling, room.width / (longestWord * 0.75), room.width / 4, room.height / 4);
  return Math.max(8, Math.round(size));
}

function inked(mask: Uint8Array, tone: number, opacity: number): Buffer {
  const data = Buffer.alloc(mask.length * 4, tone);
  for (let index = 0; index < mask.length; index++)
    data[index * 4 + 3] = Math.round((mask[index] as number) * opacity);
  return data;
}

/** The text without control characters, cut off after MAX_TEXT_CHARACTERS. */
function printable(text: string): string {
  const words = text
    .toWellFormed()
    .replace(/[\p{Cc}\uFFFE\uFFFF]+/gu, ' ')
    .trim();
  const characters = [...words];
  if (characters.length <= MAX_TEXT_CHARACTERS) return words;
  return `${characters.slice(0, MAX_TEXT_CHARACTERS).join('')}…`;
}

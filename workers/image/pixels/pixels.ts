import type { OutputInfo, Sharp } from 'sharp';
import type { Size } from '../../formats/size.ts';
import { encodeLocalOutput } from '../../transport/output.ts';

/** A colour as sharp takes it: channels 0 to 255, alpha 0 to 1. */
export interface Rgba {
  r: number;
  g: number;
  b: number;
  alpha: number;
}

/** 8-bit pixels in sRGB, frame below frame. */
export interface Pixels extends Size {
  data: Uint8Array<ArrayBuffer>;
  /** 1 grey, 3 RGB, 4 RGBA with alpha not premultiplied. */
  channels: 1 | 3 | 4;
  frames: number;
}

/** Pixels with 16 bits per channel, for pictures that keep 16 bits. */
export interface DeepPixels extends Omit<Pixels, 'data'> {
  data: Uint16Array<ArrayBuffer>;
}

/**
 * Runs a pipeline and returns its pixels.
 * @param frames number of frames in it, one below the other.
 */
export async function readPixels(pipeline: Sharp, frames = 1): Promise<Pixels> {
  const { data, info } = await encodeLocalOutput(pipeline.raw());
  return { data, ...pixelFactsOf(info, frames) };
}

/** Runs a pipeline with 16 bits and returns its pixels, RGB or RGBA. */
export async function readDeepPixels(pipeline: Sharp): Promise<DeepPixels> {
  const { data, info } = await encodeLocalOutput(pipeline.toColourspace('rgb16').raw({ depth: 'ushort' }));
  return { data: new Uint16Array(data.buffer), ...pixelFactsOf(info, 1) };
}

export function is16BitPixels(pixels: Pixels | DeepPixels): pixels is DeepPixels {
  return pixels.data instanceof Uint16Array;
}

function pixelFactsOf({ width, height, channels }: OutputInfo, frames: number): Omit<Pixels, 'data'> {
  return { width, height: height / frames, channels: channels as Pixels['channels'], frames };
}

/** The pixels of each frame, as views of the same memory. */
export function splitFrames(strip: Pixels): Pixels[] {
  const frameBytes = strip.width * strip.height * strip.channels;
  return Array.from({ length: strip.frames }, (_, frame) => ({
    ...strip,
    frames: 1,
    data: strip.data.subarray(frame * frameBytes, (frame + 1) * frameBytes),
  }));
}

/** Joins frames of the same size into one strip. */
export function joinFrames(frames: Pixels[]): Pixels {
  const first = frames[0] as Pixels;
  const frameBytes = first.data.byteLength;
  const data = new Uint8Array(frameBytes * frames.length);
  frames.forEach((frame, index) => {
    data.set(frame.data, index * frameBytes);
  });
  return { ...first, data, frames: frames.length };
}

/** Rounds each colour channel to a number of evenly spaced values, from 0 to 255. The alpha stays as it is. */
export function roundChannels(pixels: Pixels, levels: number): Pixels {
  const { channels } = pixels;
  const colours = Math.min(channels, 3);
  const last = levels - 1;
  const rounded = Uint8Array.from({ length: 256 }, (_, value) =>
    Math.round((Math.round((value * last) / 255) * 255) / last),
  );
  const data = new Uint8Array(pixels.data);
  for (let at = 0; at < data.length; at += channels)
    for (let channel = at; channel < at + colours; channel++)
      data[channel] = rounded[data[channel] as number] as number;
  return { ...pixels, data };
}

/** The number of alpha values that a format must support to keep the transparency of the pixels. */
export function alphaLevelsIn({ data, channels }: Pixels): 1 | 2 | 256 {
  if (channels !== 4) return 1;
  let levels: 1 | 2 = 1;
  for (let at = 3; at < data.length; at += 4) {
    const alpha = data[at] as number;
    if (alpha === 255) continue;
    if (alpha > 0) return 256;
    levels = 2;
  }
  return levels;
}

/** A copy of RGBA pixels as RGB. */
export function withoutAlpha({ data, ...facts }: Pixels): Pixels {
  const colours = new Uint8Array((data.length / 4) * 3);
  for (let from = 0, to = 0; from < data.length; from += 4, to += 3) {
    colours[to] = data[from] as number;
    colours[to + 1] = data[from + 1] as number;
    colours[to + 2] = data[from + 2] as number;
  }
  return { ...facts, data: colours, channels: 3 };
}

/** RGBA pixels with the transparency of one picture and the colours of another, which may be grey. */
export function replaceColours(rgba: Pixels, { data: colours, channels }: Pixels): Pixels {
  const data = new Uint8Array(rgba.data.length);
  for (let to = 0, from = 0; to < data.length; to += 4, from += channels) {
    for (let channel = 0; channel < 3; channel++)
      data[to + channel] = colours[from + Math.min(channel, channels - 1)] as number;
    data[to + 3] = rgba.data[to + 3] as number;
  }
  return { ...rgba, data };
}

/** Whether every `step`-th value is 255. For RGBA pixels, an offset of 3 and a step of 4 check the alpha. */
export function isChannelFull(data: Uint8Array, offset: number, step: number): boolean {
  for (let at = offset; at < data.length; at += step) if (data[at] !== 255) return false;
  return true;
}

/**
 * Longest side, in pixels, of the copy on which colours, entropy, sharpness and hashes are measured. A smaller picture
 * is measured itself. The sharpness of a larger picture is that of its 1024 px copy, which makes pictures of different
 * sizes comparable and costs a twelfth of reading every pixel of 12 megapixels.
 */
export const MAX_SAMPLE_EDGE_PX = 1024;

/** Raw 8-bit sRGB pixels (three channels, or four with alpha). */
export interface PixelSample {
  data: Uint8Array<ArrayBufferLike>;
  width: number;
  height: number;
  channels: 3 | 4;
}

/** Converts the pixels of a pass to a sample. Grey pixels get three channels. */
export function toPixelSample({ data, width, height, channels }: Omit<Pixels, 'frames'>): PixelSample {
  if (channels !== 1) return { data, width, height, channels };
  const colours = new Uint8Array(3 * data.length);
  for (let from = 0, to = 0; from < data.length; from++, to += 3)
    colours.fill(data[from] as number, to, to + 3);
  return { data: colours, width, height, channels: 3 };
}

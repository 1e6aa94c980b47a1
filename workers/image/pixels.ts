import sharp, { type Sharp } from 'sharp';
import type { Size } from './geometry.ts';

/** 8-bit pixels in sRGB, frame under frame. */
export interface Pixels extends Size {
  data: Uint8Array<ArrayBuffer>;
  /** 1 grey, 3 RGB, 4 RGBA with alpha not premultiplied. */
  channels: 1 | 3 | 4;
  frames: number;
}

/** A pipeline on pixels; grey ones it takes as RGB. */
export function openPixels({ data, width, height, channels, frames }: Pixels): Sharp {
  const raw = { width, height: height * frames, channels, ...(frames > 1 && { pageHeight: height }) };
  const pipeline = sharp(data, { raw, limitInputPixels: false, ...(frames > 1 && { pages: -1 }) });
  return channels === 1 ? pipeline.pipelineColourspace('srgb') : pipeline;
}

/** Each frame's pixels, as views on the strip. */
export function framesOf(strip: Pixels): Pixels[] {
  const frameBytes = strip.width * strip.height * strip.channels;
  return Array.from({ length: strip.frames }, (_, frame) => ({
    ...strip,
    frames: 1,
    data: strip.data.subarray(frame * frameBytes, (frame + 1) * frameBytes),
  }));
}

/** Frames of one size as one strip. */
export function joinFrames(frames: Pixels[]): Pixels {
  const first = frames[0] as Pixels;
  const frameBytes = first.data.byteLength;
  const data = new Uint8Array(frameBytes * frames.length);
  frames.forEach((frame, index) => {
    data.set(frame.data, index * frameBytes);
  });
  return { ...first, data, frames: frames.length };
}

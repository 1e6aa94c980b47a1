import type { KernelEnum } from 'sharp';
import type { Rgba } from './colour/colour.ts';
import type { Picture } from './picture.ts';
import { assertSize, type Box, type Size, scaledBy } from './pixels/geometry.ts';
import { deepPixelsOf, isDeep, pixelsOf } from './pixels/pixels.ts';
import { enlarged, sampled } from './pixels/resample.ts';

/*
 * Changes the size of a picture during a pass: scales, cuts or pads it. Sizes are of one frame, in pixels. A picture
 * that has the size already is not changed. All functions except cutting throw BadArgument where the result would be
 * too large.
 */

type Kernel = keyof KernelEnum;

const isOf = (picture: Size, { width, height }: Size) => picture.width === width && picture.height === height;

/** Scales to exactly this size. */
export async function scaleTo(picture: Picture, size: Size, kernel: Kernel = 'lanczos3'): Promise<void> {
  if (isOf(picture, size)) return;
  assertSize(size, picture.frames);
  if (kernel === 'nearest') return picture.replace(sampled(await picture.handOver(), size));
  // In one strip, the edges of neighbouring frames bleed into each other. An enlargement shows it. In a reduction it is
  // a tenth of the contrast in one row of pixels, and separate frames would cost three times the time.
  if (picture.frames > 1 && size.height > picture.height)
    return picture.eachFrame((frame) => scaleTo(frame, size, kernel));
  if (size.width > picture.width || size.height > picture.height) return enlargeTo(picture, size, kernel);
  (await picture.at('scale')).resize({ ...size, fit: 'fill', kernel });
  picture.becomes(size);
}

/** Scales to a size that is larger on one axis or both. An axis that gets smaller is scaled first. */
async function enlargeTo(picture: Picture, size: Size, kernel: Exclude<Kernel, 'nearest'>): Promise<void> {
  await scaleTo(picture, smallerSides(picture, size), kernel);
  picture.replace(enlarged(await picture.handOver(), size, kernel, picture.checkDeadline));
}

/** Makes the picture smaller in linear light, as optics do, so that fine patterns keep their brightness. */
export async function scaleLinear(picture: Picture, to: Size, kernel: Kernel = 'lanczos3'): Promise<void> {
  const size = smallerSides(picture, to);
  if (isOf(picture, size)) return;
  const pixels = await picture.handOver();
  const { height, frames } = pixels;
  const pipeline = picture
    .pipelineOver({ ...pixels, height: height * frames, frames: 1 })
    .pipelineColourspace('scrgb')
    .resize({ width: size.width, height: size.height * frames, fit: 'fill', kernel });
  picture.replace(isDeep(pixels) ? await deepPixelsOf(pipeline) : await pixelsOf(pipeline, frames));
}

/** The smaller of the two sizes on each axis. */
function smallerSides(one: Size, other: Size): Size {
  return { width: Math.min(one.width, other.width), height: Math.min(one.height, other.height) };
}

/** Scales to cover this size and cuts off the least interesting part. The picture must not be an animation. */
export async function scaleToInteresting(
  picture: Picture,
  size: Size,
  strategy: 'attention' | 'entropy',
  kernel?: Kernel,
): Promise<void> {
  assertSize(size);
  const factor = Math.max(size.width / picture.width, size.height / picture.height);
  if (factor > 1) await scaleTo(picture, scaledBy(picture, factor), kernel);
  const pipeline = await picture.at('scale', 'smartCrop');
  pipeline.resize({ ...size, fit: 'cover', position: strategy, ...(kernel && { kernel }) });
  picture.becomes(size);
}

/** Cuts out a box, which must lie within the picture. */
export async function cropTo(picture: Picture, { left, top, width, height }: Box): Promise<void> {
  if (isOf(picture, { width, height })) return;
  // sharp turns a picture before it scales it when a box is cut as well, and would decode every pixel. So the box is
  // cut out of the small result instead.
  if (picture.uses('scale')) await picture.turnUpright();
  (await picture.at(picture.uses('scale') ? 'crop' : 'extract')).extract({ left, top, width, height });
  picture.becomes({ width, height });
}

/** Adds a margin around the picture. */
export async function pad(
  picture: Picture,
  room: { top: number; right: number; bottom: number; left: number },
  background: Rgba,
  extendWith: 'background' | 'copy' | 'repeat' | 'mirror' = 'background',
): Promise<void> {
  const size = {
    width: picture.width + room.left + room.right,
    height: picture.height + room.top + room.bottom,
  };
  if (isOf(picture, size)) return;
  assertSize(size, picture.frames);
  await picture.makePlain();
  (await picture.at('extend')).extend({ ...room, background, extendWith });
  picture.becomes(size);
  picture.mayTurnTransparent(background);
}

import type { KernelEnum } from 'sharp';
import type { Size } from '../formats/size.ts';
import { encodeOutput } from '../transport/output.ts';
import type { PassPicture } from './picture.ts';
import {
  type Anchor,
  assertWithinSizeLimits,
  type Box,
  type GravityName,
  isSameSize,
  placeBox,
  scaleSize,
} from './pixels/geometry.ts';
import {
  is16BitPixels,
  type Pixels,
  type Rgba,
  readDeepPixels,
  readPixels,
  splitFrames,
} from './pixels/pixels.ts';
import { enlargePixels, scaleToNearest } from './pixels/resample.ts';

/*
 * Changes the size of a picture during a pass: scales, cuts or pads it. Every size is that of one frame, in pixels. A
 * picture that has the requested size already is not changed. All functions except cutting throw BadArgumentError if
 * the result would be too large.
 */

type ScalingKernel = keyof KernelEnum;

/** Scales a picture to exactly this size. */
export async function scaleToSize(
  picture: PassPicture,
  size: Size,
  kernel: ScalingKernel = 'lanczos3',
): Promise<void> {
  if (isSameSize(picture, size)) return;
  assertWithinSizeLimits(size, picture.frames);
  await scaleToBox(picture, size, { left: 0, top: 0, ...size }, kernel);
}

/**
 * Scales a picture to a size of which only a box is needed. A picture that shrinks is scaled first, so that the decoder
 * can shrink it. If a picture grows, only the box is computed.
 */
async function scaleToBox(
  picture: PassPicture,
  scaled: Size,
  box: Box,
  kernel: ScalingKernel = 'lanczos3',
): Promise<void> {
  assertWithinSizeLimits(box, picture.frames);
  if (isSameSize(picture, scaled)) return cropToBox(picture, box);
  if (kernel === 'nearest') return picture.replace(scaleToNearest(await picture.runPipeline(), scaled, box));
  if (isLargerOnAnAxis(scaled, picture)) {
    // In one strip, the edges of neighbouring frames bleed into each other. The effect is visible in an enlargement. In
    // a reduction it is only a tenth of the contrast in one row of pixels, and separate frames would take three times
    // as long.
    if (picture.frames > 1) return picture.eachFrame((frame) => enlargeTo(frame, scaled, box, kernel));
    return enlargeTo(picture, scaled, box, kernel);
  }
  (await picture.at('scale')).resize({ ...scaled, fit: 'fill', kernel });
  picture.setSize(scaled);
  await cropToBox(picture, box);
}

/** Whether a size is larger than that of a picture on at least one axis. */
function isLargerOnAnAxis(size: Size, picture: Size): boolean {
  return size.width > picture.width || size.height > picture.height;
}

/** Computes a box of a picture that is enlarged on one axis or both. An axis that shrinks is scaled first. */
async function enlargeTo(
  picture: PassPicture,
  scaled: Size,
  box: Box,
  kernel: Exclude<ScalingKernel, 'nearest'>,
): Promise<void> {
  await scaleToSize(picture, smallerSides(picture, scaled), kernel);
  const [across, down] = [picture.width / scaled.width, picture.height / scaled.height];
  const part = {
    left: box.left * across,
    top: box.top * down,
    width: box.width * across,
    height: box.height * down,
  };
  picture.replace(enlargePixels(await picture.runPipeline(), box, kernel, picture.checkDeadline, part));
}

/** Shrinks the picture in linear light, so that fine patterns keep their brightness. */
export async function scaleInLinearLight(
  picture: PassPicture,
  to: Size,
  kernel: ScalingKernel = 'lanczos3',
): Promise<void> {
  const size = smallerSides(picture, to);
  if (isSameSize(picture, size)) return;
  const pixels = await picture.runPipeline();
  const { height, frames } = pixels;
  const pipeline = picture
    .pipelineOver({ ...pixels, height: height * frames, frames: 1 })
    .pipelineColourspace('scrgb')
    .resize({ width: size.width, height: size.height * frames, fit: 'fill', kernel });
  picture.replace(
    is16BitPixels(pixels) ? await readDeepPixels(pipeline) : await readPixels(pipeline, frames),
  );
}

/** The smaller of the two sizes on each axis. */
function smallerSides(one: Size, other: Size): Size {
  return { width: Math.min(one.width, other.width), height: Math.min(one.height, other.height) };
}

/** The measure by which the most interesting part of a picture is found. */
type InterestMeasure = 'attention' | 'entropy';

/** The part of a picture that a crop keeps: the part at a named place, or the most interesting part. */
export type Gravity = GravityName | InterestMeasure;

/**
 * Shrinks a picture until it just covers this size, and cuts off the least interesting part. The picture must not be an
 * animation.
 */
async function shrinkToInterestingPart(
  picture: PassPicture,
  size: Size,
  interest: InterestMeasure,
  kernel?: ScalingKernel,
): Promise<void> {
  assertWithinSizeLimits(size);
  const pipeline = await picture.at('scale', 'smartCrop');
  pipeline.resize({ ...size, fit: 'cover', position: interest, ...(kernel && { kernel }) });
  picture.setSize(size);
}

/** The most pixels that are searched for the interesting part. A larger picture is searched in a smaller copy. */
const MAX_SEARCHED_PX = 12_000_000;

/**
 * The most interesting box of `result` size in a picture of `scaled` size. The scaled picture itself is not computed.
 * In an animation, the first frame decides, because a crop that follows the action would shake.
 */
async function findInterestingBox(
  picture: PassPicture,
  { scaled, result }: { scaled: Size; result: Size },
  interest: InterestMeasure,
): Promise<Box> {
  const factor = Math.min(1, Math.sqrt(MAX_SEARCHED_PX / (scaled.width * scaled.height)));
  const pixels = await picture.runPipeline();
  const frame = is16BitPixels(pixels) ? pixels : (splitFrames(pixels)[0] as Pixels);
  const cut = picture
    .pipelineOver(frame)
    .resize({ ...scaleSize(result, factor), fit: 'cover', position: interest });
  const { cropOffsetLeft = 0, cropOffsetTop = 0 } = (await encodeOutput(cut.raw())).info;
  // sharp reports where the original picture lies relative to the crop. The crop lies at the negated position.
  const left = Math.min(Math.round(-cropOffsetLeft / factor), scaled.width - result.width);
  const top = Math.min(Math.round(-cropOffsetTop / factor), scaled.height - result.height);
  return { ...result, left, top };
}

/** Cuts out a box, which must lie within the picture. */
export async function cropToBox(picture: PassPicture, { left, top, width, height }: Box): Promise<void> {
  if (isSameSize(picture, { width, height })) return;
  // If a box is cut as well, sharp turns the picture before scaling it, and would decode every pixel. The box is cut
  // out of the small result instead.
  if (picture.usesSlot('scale')) await picture.turnUpright();
  (await picture.at(picture.usesSlot('scale') ? 'crop' : 'extract')).extract({ left, top, width, height });
  picture.setSize({ width, height });
}

/** Adds a margin around the picture: in a background colour, or made of its own pixels. */
export async function padPicture(
  picture: PassPicture,
  room: { top: number; right: number; bottom: number; left: number },
  background: Rgba,
  extendWith: 'background' | 'copy' | 'repeat' | 'mirror' = 'background',
): Promise<void> {
  const size = {
    width: picture.width + room.left + room.right,
    height: picture.height + room.top + room.bottom,
  };
  if (isSameSize(picture, size)) return;
  assertWithinSizeLimits(size, picture.frames);
  await picture.convertToPlainPixels();
  (await picture.at('extend')).extend({ ...room, background, extendWith });
  picture.setSize(size);
  picture.recordBackground(background);
}

interface CropAim {
  gravity?: Gravity;
  focalX?: number;
  focalY?: number;
}

/**
 * The part of a picture that a crop keeps. A named place or a point can be computed. The most interesting part depends
 * on the pixels.
 */
export function cropAnchorOf({ gravity, focalX, focalY }: CropAim): Anchor | InterestMeasure {
  if (focalX === undefined && focalY === undefined) return gravity ?? 'center';
  return { x: focalX ?? 0.5, y: focalY ?? 0.5 };
}

/** Scales a picture until it covers `scaled`, and keeps the part of `result` size that the anchor selects. */
export async function scaleAndCrop(
  picture: PassPicture,
  { scaled, result }: { scaled: Size; result: Size },
  anchor: Anchor | InterestMeasure,
  kernel?: keyof KernelEnum,
): Promise<void> {
  if (anchor !== 'attention' && anchor !== 'entropy')
    return scaleToBox(picture, scaled, placeBox(result, scaled, anchor), kernel);
  if (!isLargerOnAnAxis(scaled, picture)) {
    if (picture.frames === 1) return shrinkToInterestingPart(picture, result, anchor, kernel);
    await scaleToSize(picture, scaled, kernel);
  }
  await scaleToBox(picture, scaled, await findInterestingBox(picture, { scaled, result }, anchor), kernel);
}

/**
 * The smallest factor at which libjpeg shrinks a picture while decoding it. Slightly more than 2 would suffice for
 * libjpeg, but sharp then reads the whole picture because of rounding.
 */
const MIN_JPEG_SHRINK_FACTOR = 3;

/** The format of a file as named by libvips, and its size as displayed. */
interface ScalableFile extends Size {
  format: string;
  orientation: number;
}

/**
 * Whether a scaling in the first step reads other pixels than those of the whole decoded picture. It does if the
 * decoder shrinks the picture, or if sharp scales it before turning it upright. Such pixels suit one size only.
 * @param scaled the size as displayed.
 */
export function scalesOnLoad({ format, orientation, width, height }: ScalableFile, scaled: Size): boolean {
  const factor = Math.min(width / scaled.width, height / scaled.height);
  if (orientation > 1) return scaled.width !== width || scaled.height !== height;
  return format === 'jpeg' ? factor >= MIN_JPEG_SHRINK_FACTOR : format === 'webp' && factor > 1;
}

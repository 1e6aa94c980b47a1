import type { Size } from '../../formats/size.ts';
import { BadArgumentError } from '../refusal.ts';

export interface Box extends Size {
  left: number;
  top: number;
}

export type FitMode = 'cover' | 'contain' | 'fill' | 'inside' | 'outside';

/** A position in a larger area: nine named places, or a point as shares of width and height. */
export type Anchor = GravityName | { x: number; y: number };

/** For each named place, the shares of the free space that lie to the left of the placed box and above it. */
const OFFSET_SHARES_BY_GRAVITY = {
  center: { x: 0.5, y: 0.5 },
  north: { x: 0.5, y: 0 },
  northeast: { x: 1, y: 0 },
  east: { x: 1, y: 0.5 },
  southeast: { x: 1, y: 1 },
  south: { x: 0.5, y: 1 },
  southwest: { x: 0, y: 1 },
  west: { x: 0, y: 0.5 },
  northwest: { x: 0, y: 0 },
} as const;

export type GravityName = keyof typeof OFFSET_SHARES_BY_GRAVITY;
export const GRAVITY_NAMES = Object.keys(OFFSET_SHARES_BY_GRAVITY) as GravityName[];

/**
 * The largest side and area of a picture during a pass. Without these limits, a few bytes of input could take
 * gigabytes.
 */
export const MAX_EDGE_PX = 16384;
export const MAX_AREA_PX = 100_000_000;

/**
 * The shape of a picture as far as it is known without its pixels: the size of a frame, and the number of frames worked
 * on at once.
 */
export interface PictureShape extends Size {
  frames: number;
  /** Whether the picture has an alpha channel; absent if that is not known. */
  hasAlpha?: boolean | undefined;
}

/**
 * The error on `width` or `height` of a step that would make a picture of this size, if the size exceeds the limits.
 */
export function sizeLimitError({ width, height }: Size, frames = 1): BadArgumentError | undefined {
  const key = width > MAX_EDGE_PX ? 'width' : 'height';
  if (Math.max(width, height) > MAX_EDGE_PX) {
    const message = `The step would make a picture of ${width} × ${height} pixels, but an edge has at most ${MAX_EDGE_PX}.`;
    return new BadArgumentError(key, message, { limit: MAX_EDGE_PX });
  }
  if (width * height * frames > MAX_AREA_PX) {
    const megapixels = Math.round((width * height * frames) / 1e6);
    const message = `The step would make a picture of ${megapixels} megapixels, but at most ${MAX_AREA_PX / 1e6} are worked on.`;
    return new BadArgumentError('width', message, { limit: MAX_AREA_PX });
  }
  return undefined;
}

/** The error of `sizeLimitError`; undefined if the step leaves the size of the picture unchanged. */
export function changedSizeLimitError(picture: PictureShape, size: Size): BadArgumentError | undefined {
  return isSameSize(picture, size) ? undefined : sizeLimitError(size, picture.frames);
}

export function isSameSize(one: Size, other: Size): boolean {
  return one.width === other.width && one.height === other.height;
}

/** @throws BadArgumentError with the error that `sizeLimitError` returns. */
export function assertWithinSizeLimits(size: Size, frames?: number): void {
  const fault = sizeLimitError(size, frames);
  if (fault !== undefined) throw fault;
}

/** Places a box of `inner` size in an area of `outer` size. A box larger than the area extends beyond it. */
export function placeBox(inner: Size, outer: Size, at: Anchor): Box {
  const free = { x: outer.width - inner.width, y: outer.height - inner.height };
  if (typeof at === 'string') {
    const share = OFFSET_SHARES_BY_GRAVITY[at];
    return { ...inner, left: Math.round(free.x * share.x), top: Math.round(free.y * share.y) };
  }
  // The centre of the box is as near to the point as the edges of the area allow.
  const left = clampFromZero(Math.round(at.x * outer.width - inner.width / 2), free.x);
  const top = clampFromZero(Math.round(at.y * outer.height - inner.height / 2), free.y);
  return { ...inner, left, top };
}

/**
 * Places a box in an area at a distance from the edges. A centred box ignores the distance.
 * @param margin in pixels, or as a share of the shorter side, such as `5%`.
 */
export function placeBoxWithMargin(inner: Size, outer: Size, at: GravityName, margin: number | string): Box {
  const distance = marginPx(margin, outer);
  const { left, top, ...size } = placeBox(inner, sizeWithinMargin(outer, distance), at);
  return { ...size, left: left + distance, top: top + distance };
}

/**
 * A margin in whole pixels.
 * @param margin in pixels, or as a share of the shorter side, such as `5%`.
 */
export function marginPx(margin: number | string, { width, height }: Size): number {
  if (typeof margin === 'number') return margin;
  return Math.round((Number.parseFloat(margin) / 100) * Math.min(width, height));
}

/** The size that remains of an area if a margin is left free on each side; at least one pixel. */
export function sizeWithinMargin({ width, height }: Size, distance: number): Size {
  return { width: Math.max(1, width - 2 * distance), height: Math.max(1, height - 2 * distance) };
}

/** The part of the box within the area; undefined if they do not overlap. */
export function intersectBox(box: Box, area: Size): Box | undefined {
  const left = Math.max(0, box.left);
  const top = Math.max(0, box.top);
  const width = Math.min(area.width, box.left + box.width) - left;
  const height = Math.min(area.height, box.top + box.height) - top;
  return width > 0 && height > 0 ? { left, top, width, height } : undefined;
}

/** The smallest box that contains both boxes. */
export function boundingBoxOf(a: Box, b: Box): Box {
  const left = Math.min(a.left, b.left);
  const top = Math.min(a.top, b.top);
  const right = Math.max(a.left + a.width, b.left + b.width);
  const bottom = Math.max(a.top + a.height, b.top + b.height);
  return { left, top, width: right - left, height: bottom - top };
}

/** The sizes of a fitted picture: the size to which it is scaled, and the size to which it is then cut or padded. */
interface FittedSizes {
  scaled: Size;
  result: Size;
}

/**
 * Fits a picture into a box that has one side or both. Without `enlarge` the picture is never scaled up: `cover` then
 * cuts the largest part with the box's shape, and `contain` pads the picture at its own size.
 */
export function fitIntoBox(
  source: Size,
  box: { width?: number | undefined; height?: number | undefined },
  fit: FitMode,
  enlarge: boolean,
): FittedSizes {
  const { width, height } = box;
  const across = width === undefined ? undefined : width / source.width;
  const down = height === undefined ? undefined : height / source.height;
  const ceiling = enlarge ? Number.POSITIVE_INFINITY : 1;
  if (width === undefined || height === undefined || across === undefined || down === undefined) {
    return fittedExactly(scaleSize(source, Math.min(ceiling, across ?? down ?? 1)));
  }
  if (fit === 'fill') {
    return fittedExactly({
      width: Math.min(width, source.width * ceiling),
      height: Math.min(height, source.height * ceiling),
    });
  }
  const factor = fit === 'cover' || fit === 'outside' ? Math.max(across, down) : Math.min(across, down);
  const scaled = scaleSize(source, Math.min(ceiling, factor));
  if (fit === 'contain') return { scaled, result: { width, height } };
  if (fit === 'cover') return { scaled, result: scaleSize({ width, height }, Math.min(1, ceiling / factor)) };
  return fittedExactly(scaled);
}

function fittedExactly(size: Size): FittedSizes {
  return { scaled: size, result: size };
}

/**
 * The largest size with a given aspect ratio that fits into an area.
 * @param ratio width divided by height.
 */
export function largestSizeOfRatio(area: Size, ratio: number): Size {
  return area.width / area.height > ratio
    ? { width: Math.max(1, Math.round(area.height * ratio)), height: area.height }
    : { width: area.width, height: Math.max(1, Math.round(area.width / ratio)) };
}

/** The size of the bounding box of a picture that is turned by any angle in degrees. */
export function rotatedBoundingSize({ width, height }: Size, angle: number): Size {
  const radians = (angle * Math.PI) / 180;
  const sin = Math.abs(Math.sin(radians));
  const cos = Math.abs(Math.cos(radians));
  // The size is rounded up, because the outermost pixels are part of the picture. Small floating-point errors are
  // ignored.
  const roundUp = (edge: number) => Math.ceil(edge - 1e-6);
  return { width: roundUp(width * cos + height * sin), height: roundUp(width * sin + height * cos) };
}

/**
 * The radius of round corners in pixels. A number is the same on both axes, at most half of the shorter side. A share
 * such as `50%` is a share of each side.
 */
export function cornerRadius(radius: number | string, { width, height }: Size): Size {
  if (typeof radius === 'string') {
    const share = Number.parseInt(radius, 10) / 100;
    return { width: width * share, height: height * share };
  }
  const limited = Math.min(radius, width / 2, height / 2);
  return { width: limited, height: limited };
}

/** Whether a radius is not zero. */
export function isRoundRadius(radius: number | string): boolean {
  return Number.parseInt(String(radius), 10) > 0;
}

/** Divides a box into columns and rows of parts that are as equal as whole pixels allow. */
export function divideBox({ left, top, width, height }: Box, columns: number, rows: number): Box[] {
  const edge = (length: number, parts: number, part: number) => Math.round((length * part) / parts);
  return Array.from({ length: columns * rows }, (_, index) => {
    const [column, row] = [index % columns, Math.floor(index / columns)];
    const [x, y] = [edge(width, columns, column), edge(height, rows, row)];
    return {
      left: left + x,
      top: top + y,
      width: edge(width, columns, column + 1) - x,
      height: edge(height, rows, row + 1) - y,
    };
  });
}

/** Scales a size and rounds it to whole pixels. No side becomes shorter than 1 pixel. */
export function scaleSize({ width, height }: Size, factor: number): Size {
  return { width: Math.max(1, Math.round(width * factor)), height: Math.max(1, Math.round(height * factor)) };
}

function clampFromZero(value: number, high: number): number {
  return Math.min(high, Math.max(0, value));
}

/**
 * The operations that make a picture upright, by its EXIF orientation: first it is mirrored left to right, then turned
 * clockwise by an angle.
 */
export const TURNS_BY_ORIENTATION: Readonly<Record<number, { mirrored?: true; angle: number }>> = {
  2: { mirrored: true, angle: 0 },
  3: { angle: 180 },
  4: { mirrored: true, angle: 180 },
  5: { mirrored: true, angle: 270 },
  6: { angle: 90 },
  7: { mirrored: true, angle: 90 },
  8: { angle: 270 },
};

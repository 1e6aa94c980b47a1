import type { Box } from '../../../workers/models/protocol.ts';

/** The size of a picture, in pixels. */
export interface Size {
  width: number;
  height: number;
}

/** How far a picture was turned before it was read, clockwise, in degrees. */
export const ANGLES = [0, 90, 270, 180] as const;
export type Angle = (typeof ANGLES)[number];

/**
 * The same box in the picture before it was turned and scaled.
 * @param read the size of the picture that was read.
 * @param original that of the picture before.
 */
export function originalBox(box: Box, angle: Angle, read: Size, original: Size): Box {
  const turned = turnedBack(box, angle, read);
  const upright = angle === 90 || angle === 270 ? { width: read.height, height: read.width } : read;
  const [byX, byY] = [original.width / upright.width, original.height / upright.height];
  const [left, top] = [Math.floor(turned.x * byX), Math.floor(turned.y * byY)];
  return {
    x: left,
    y: top,
    width: Math.min(original.width, Math.ceil((turned.x + turned.width) * byX)) - left,
    height: Math.min(original.height, Math.ceil((turned.y + turned.height) * byY)) - top,
  };
}

function turnedBack({ x, y, width, height }: Box, angle: Angle, read: Size): Box {
  switch (angle) {
    case 0:
      return { x, y, width, height };
    case 90:
      return { x: y, y: read.width - x - width, width: height, height: width };
    case 180:
      return { x: read.width - x - width, y: read.height - y - height, width, height };
    case 270:
      return { x: read.height - y - height, y: x, width: height, height: width };
  }
}

import type { KernelEnum } from 'sharp';
import { outputOf } from '../../transport/output.ts';
import type { Picture } from '../picture.ts';
import { type Anchor, place, type Size } from '../pixels/geometry.ts';
import { cropTo, scaleTo, scaleToInteresting } from '../sizing.ts';
import type { Gravity } from './parameter.ts';

interface Aim {
  gravity?: Gravity;
  focalX?: number;
  focalY?: number;
}

/**
 * The part of a picture that a crop keeps: a place or point that can be computed, or a part that depends on the pixels.
 */
export function anchorOf({ gravity, focalX, focalY }: Aim): Anchor | 'attention' | 'entropy' {
  if (focalX === undefined && focalY === undefined) return gravity ?? 'center';
  return { x: focalX ?? 0.5, y: focalY ?? 0.5 };
}

/** Scales a picture to cover `scaled`, and keeps the part of `result` size that the anchor selects. */
export async function scaleAndCrop(
  picture: Picture,
  { scaled, result }: { scaled: Size; result: Size },
  anchor: Anchor | 'attention' | 'entropy',
  kernel?: keyof KernelEnum,
): Promise<void> {
  if (anchor !== 'attention' && anchor !== 'entropy') {
    await scaleTo(picture, scaled, kernel);
    await cropTo(picture, place(result, scaled, anchor));
  } else if (picture.frames === 1) {
    await scaleToInteresting(picture, result, anchor, kernel);
  } else {
    // Every frame is cut at the same place as the first, because a crop that follows the action would shake.
    await scaleTo(picture, scaled, kernel);
    const [first] = await picture.frameByFrame();
    if (first === undefined) return;
    const cut = first.resize({ ...result, fit: 'cover', position: anchor });
    const { info } = await outputOf(cut.raw());
    // sharp reports offsets as the distance that the picture was moved: zero or negative.
    await cropTo(picture, { ...result, left: -(info.cropOffsetLeft ?? 0), top: -(info.cropOffsetTop ?? 0) });
  }
}

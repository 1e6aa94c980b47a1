import type { KernelEnum } from 'sharp';
import type { Size } from '../../formats/size.ts';
import type { Picture } from '../picture.ts';
import { type Anchor, place } from '../pixels/geometry.ts';
import {
  type InterestMeasure,
  interestingBox,
  isLarger,
  scaleTo,
  scaleToBox,
  shrinkToInteresting,
} from '../sizing.ts';
import type { Gravity } from './parameter.ts';

interface Aim {
  gravity?: Gravity;
  focalX?: number;
  focalY?: number;
}

/**
 * The part of a picture that a crop keeps: a place or point that can be computed, or a part that depends on the pixels.
 */
export function anchorOf({ gravity, focalX, focalY }: Aim): Anchor | InterestMeasure {
  if (focalX === undefined && focalY === undefined) return gravity ?? 'center';
  return { x: focalX ?? 0.5, y: focalY ?? 0.5 };
}

/** Scales a picture to cover `scaled`, and keeps the part of `result` size that the anchor selects. */
export async function scaleAndCrop(
  picture: Picture,
  { scaled, result }: { scaled: Size; result: Size },
  anchor: Anchor | InterestMeasure,
  kernel?: keyof KernelEnum,
): Promise<void> {
  if (anchor !== 'attention' && anchor !== 'entropy')
    return scaleToBox(picture, scaled, place(result, scaled, anchor), kernel);
  if (!isLarger(scaled, picture)) {
    if (picture.frames === 1) return shrinkToInteresting(picture, result, anchor, kernel);
    await scaleTo(picture, scaled, kernel);
  }
  await scaleToBox(picture, scaled, await interestingBox(picture, { scaled, result }, anchor), kernel);
}

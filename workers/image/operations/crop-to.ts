import type { KernelEnum } from 'sharp';
import type { Size } from '../../formats/size.ts';
import type { PassPicture } from '../picture.ts';
import { type Anchor, placeBox } from '../pixels/geometry.ts';
import {
  findInterestingBox,
  type InterestMeasure,
  isLargerOnAnAxis,
  scaleToBox,
  scaleToSize,
  shrinkToInterestingPart,
} from '../sizing.ts';
import type { Gravity } from './parameter.ts';

interface Aim {
  gravity?: Gravity;
  focalX?: number;
  focalY?: number;
}

/**
 * The part of a picture that a crop keeps: a named place or a point, which can be computed, or the most interesting
 * part, which depends on the pixels.
 */
export function cropAnchorOf({ gravity, focalX, focalY }: Aim): Anchor | InterestMeasure {
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

import type { PassPicture } from './picture.ts';
import { type BlendMode, blendLayer } from './pixels/blend.ts';
import { type Box, intersectBox } from './pixels/geometry.ts';
import { cutBox } from './pixels/paint.ts';
import { type Pixels, splitFrames, withoutAlpha } from './pixels/pixels.ts';

/** Draws an RGBA picture over every frame of another picture. Parts outside the frame are cut off. */
export async function overlayPicture(
  picture: PassPicture,
  layer: Pixels,
  at: { left: number; top: number },
  mode: BlendMode | 'over' = 'over',
): Promise<void> {
  const visible = intersectBox({ ...at, width: layer.width, height: layer.height }, picture);
  if (visible === undefined) return;
  const part = cutBox(layer, { ...visible, left: visible.left - at.left, top: visible.top - at.top });
  await (mode === 'over' ? layOver(picture, part, visible) : blendInto(picture, part, visible, mode));
}

async function layOver(picture: PassPicture, layer: Pixels, at: Box): Promise<void> {
  const { data, width, height, channels } = layer;
  const image = { input: Buffer.from(data.buffer), raw: { width, height, channels }, left: at.left };
  const layers = Array.from({ length: picture.frames }, (_, frame) => ({
    ...image,
    top: at.top + frame * picture.height,
  }));
  if (picture.hasAlpha) (await picture.at('composite')).composite(layers);
  // An opaque picture stays opaque under a layer, but sharp adds an alpha channel, which is removed again.
  else (await picture.at('composite', 'removeAlpha')).composite(layers).removeAlpha();
}

/** Blends the layer into the pixels, frame by frame. */
async function blendInto(picture: PassPicture, layer: Pixels, at: Box, mode: BlendMode): Promise<void> {
  const { hasAlpha } = picture;
  const onto = await picture.pixels('rgba');
  for (const frame of splitFrames(onto)) blendLayer(frame, layer, at, mode, picture.checkDeadline);
  if (!hasAlpha) picture.replace(withoutAlpha(onto));
}

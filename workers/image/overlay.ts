import type { Picture } from './picture.ts';
import { type BlendMode, blend } from './pixels/blend.ts';
import { type Box, intersect } from './pixels/geometry.ts';
import { cut } from './pixels/paint.ts';
import { framesOf, type Pixels, withoutAlpha } from './pixels/pixels.ts';

/** Lays an RGBA picture over every frame of another; parts outside the frame are cut off. */
export async function overlay(
  picture: Picture,
  layer: Pixels,
  at: { left: number; top: number },
  mode: BlendMode | 'over' = 'over',
): Promise<void> {
  const visible = intersect({ ...at, width: layer.width, height: layer.height }, picture);
  if (visible === undefined) return;
  const part = cut(layer, { ...visible, left: visible.left - at.left, top: visible.top - at.top });
  await (mode === 'over' ? layOver(picture, part, visible) : blendInto(picture, part, visible, mode));
}

async function layOver(picture: Picture, layer: Pixels, at: Box): Promise<void> {
  const { data, width, height, channels } = layer;
  const image = { input: Buffer.from(data.buffer), raw: { width, height, channels }, left: at.left };
  const layers = Array.from({ length: picture.frames }, (_, frame) => ({
    ...image,
    top: at.top + frame * picture.height,
  }));
  if (picture.hasAlpha) (await picture.at('composite')).composite(layers);
  // An opaque picture stays opaque under a layer, but sharp adds the channel.
  else (await picture.at('composite', 'removeAlpha')).composite(layers).removeAlpha();
}

/** Blends the layer into the pixels, frame by frame. */
async function blendInto(picture: Picture, layer: Pixels, at: Box, mode: BlendMode): Promise<void> {
  const { hasAlpha } = picture;
  const onto = await picture.pixels('rgba');
  for (const frame of framesOf(onto)) blend(frame, layer, at, mode, picture.checkDeadline);
  if (!hasAlpha) picture.replace(withoutAlpha(onto));
}

import type { PassPicture } from './picture.ts';
import { type Box, intersectBox } from './pixels/geometry.ts';
import { copyBox } from './pixels/paint.ts';
import { type Pixels, splitFrames, withoutAlpha } from './pixels/pixels.ts';

/** How much of a layer was drawn: all of its visible pixels, some of them, or none. */
type DrawnShare = 'all' | 'part' | 'nothing';

/** Draws an RGBA picture over every frame of another picture. Parts of the layer outside the frame are cut off. */
export async function overlayPicture(
  picture: PassPicture,
  layer: Pixels,
  at: { left: number; top: number },
  mode: BlendMode | 'over' = 'over',
): Promise<DrawnShare> {
  const visible = intersectBox({ ...at, width: layer.width, height: layer.height }, picture);
  if (visible === undefined) return 'nothing';
  const inLayer = { ...visible, left: visible.left - at.left, top: visible.top - at.top };
  const part = copyBox(layer, inLayer);
  await (mode === 'over' ? compositeLayer(picture, part, visible) : blendInto(picture, part, visible, mode));
  return hasVisiblePixelOutside(layer, inLayer) ? 'part' : 'all';
}

/** Whether a layer has a pixel outside of a part of it that is visible, which means not fully transparent. */
function hasVisiblePixelOutside({ data, width, height }: Pixels, part: Box): boolean {
  if (part.width === width && part.height === height) return false;
  const isInkIn = (y: number, from: number, to: number) => {
    for (let at = (y * width + from) * 4 + 3; at < (y * width + to) * 4; at += 4)
      if (data[at] !== 0) return true;
    return false;
  };
  for (let y = 0; y < height; y++) {
    const isBeside = y >= part.top && y < part.top + part.height;
    if (isInkIn(y, 0, isBeside ? part.left : width)) return true;
    if (isBeside && isInkIn(y, part.left + part.width, width)) return true;
  }
  return false;
}

async function compositeLayer(picture: PassPicture, layer: Pixels, at: Box): Promise<void> {
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

/**
 * Blend modes of Compositing and Blending Level 1 (W3C, https://www.w3.org/TR/compositing-1/), one formula per channel.
 * libvips has them too, but applies the opacity of a translucent layer twice: multiplying by half-opaque white would
 * darken the picture below.
 */
const BLEND_FORMULAS = {
  multiply: (below, above) => below * above,
  screen: (below, above) => below + above - below * above,
  overlay: (below, above) => hardLight(above, below),
  darken: Math.min,
  lighten: Math.max,
  'color-dodge': (below, above) => (below === 0 ? 0 : above === 1 ? 1 : Math.min(1, below / (1 - above))),
  'color-burn': (below, above) => (below === 1 ? 1 : above === 0 ? 0 : 1 - Math.min(1, (1 - below) / above)),
  'hard-light': hardLight,
  'soft-light': softLight,
  difference: (below, above) => Math.abs(below - above),
  exclusion: (below, above) => below + above - 2 * below * above,
} satisfies Record<string, BlendFormula>;

/** Computes the blended value from the values below and above, 0 to 1. */
type BlendFormula = (below: number, above: number) => number;

type BlendMode = keyof typeof BLEND_FORMULAS;
export const BLEND_MODES = Object.keys(BLEND_FORMULAS) as BlendMode[];

function hardLight(below: number, above: number): number {
  return above <= 0.5 ? 2 * below * above : 1 - 2 * (1 - below) * (1 - above);
}

function softLight(below: number, above: number): number {
  if (above <= 0.5) return below - (1 - 2 * above) * below * (1 - below);
  const curve = below <= 0.25 ? ((16 * below - 12) * below + 4) * below : Math.sqrt(below);
  return below + (2 * above - 1) * (curve - below);
}

/**
 * Blends an RGBA layer into RGBA pixels of one frame, in place.
 * @param at upper left corner of the layer. The layer must lie completely within the pixels.
 */
function blendLayer(
  onto: Pixels,
  layer: Pixels,
  at: { left: number; top: number },
  mode: BlendMode,
  checkDeadline: () => void,
): void {
  const table = blendTableFor(BLEND_FORMULAS[mode]);
  for (let y = 0; y < layer.height; y++) {
    checkDeadline();
    let from = y * layer.width * 4;
    let to = ((at.top + y) * onto.width + at.left) * 4;
    for (let x = 0; x < layer.width; x++, from += 4, to += 4)
      blendPixel(onto.data, to, layer.data, from, table);
  }
}

/** The result of a formula for each pair of 8-bit values. Results are 0 to 255. */
function blendTableFor(formula: BlendFormula): Float32Array {
  return Float32Array.from(
    { length: 1 << 16 },
    (_, both) => 255 * formula((both >> 8) / 255, (both & 255) / 255),
  );
}

/** Blends one pixel. The more transparent the picture below is, the less the colour of the layer changes. */
function blendPixel(
  onto: Uint8Array,
  to: number,
  layer: Uint8Array,
  from: number,
  table: Float32Array,
): void {
  const above = (layer[from + 3] as number) / 255;
  if (above === 0) return;
  const below = (onto[to + 3] as number) / 255;
  const opacity = above + below * (1 - above);
  for (let channel = 0; channel < 3; channel++) {
    const [under, over] = [onto[to + channel] as number, layer[from + channel] as number];
    const mixed = (1 - below) * over + below * (table[(under << 8) | over] as number);
    onto[to + channel] = Math.round((above * mixed + (1 - above) * below * under) / opacity);
  }
  onto[to + 3] = Math.round(255 * opacity);
}

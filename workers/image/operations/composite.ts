import { type Box, EDGE_LIMIT_PX, intersect, place, type Size } from '../geometry.ts';
import { cut, fade } from '../paint.ts';
import type { Layer } from '../picture.ts';
import type { Pixels } from '../pixels.ts';
import { BadArgument } from '../refusal.ts';
import { type PassContext, step } from './operation.ts';
import { assetId, choice, flag, integer, number, optional, position } from './parameter.ts';

/** A tile smaller than this would be laid down a million times. */
const SMALLEST_TILE_PX = 4;

export const composite = step({
  description: 'Lays a second asset over the picture.',
  parameters: {
    layerAssetId: assetId('The asset to lay over.'),
    position: position('Where the layer sits when x and y are left out.', { default: 'southeast' }),
    x: optional(integer(-EDGE_LIMIT_PX, EDGE_LIMIT_PX, 'Left edge of the layer; comes with y.')),
    y: optional(integer(-EDGE_LIMIT_PX, EDGE_LIMIT_PX, 'Top edge of the layer; comes with x.')),
    scale: optional(
      number(0.01, 1, "Width of the layer as a share of the picture's; its own size when left out."),
    ),
    opacity: number(0, 1, 'How solid the layer is.', { default: 1 }),
    blend: choice(
      [
        'over',
        'multiply',
        'screen',
        'overlay',
        'darken',
        'lighten',
        'color-dodge',
        'color-burn',
        'hard-light',
        'soft-light',
        'difference',
        'exclusion',
      ],
      'How the layer mixes with the picture.',
      { default: 'over' },
    ),
    tile: flag('Whether the layer is repeated over the whole picture.', { default: false }),
  },
  cost: 2,
  readsSecondAsset: 'layerAssetId',
  async apply(picture, { layerAssetId, position, x, y, scale, opacity, blend, tile }, pass) {
    const width = scale === undefined ? undefined : Math.max(1, Math.round(picture.width * scale));
    const layer = await pass.layer(layerAssetId, 'layerAssetId', (opened) =>
      (width === undefined ? opened : opened.resize({ width })).ensureAlpha(),
    );
    if (opacity < 1) fade(layer, opacity);
    const at =
      x === undefined || y === undefined ? place(layer, picture, position) : { ...layer, left: x, top: y };
    const pieces = tile ? [await tiled(layer, at, picture, pass)] : clipped(layer, at, picture);
    if (pieces.length > 0) await picture.overlay(pieces, blend);
  },
});

/** The part of the layer that lies on the picture; none when it lies beside it. */
function clipped(layer: Pixels, at: { left: number; top: number }, picture: Size): Layer[] {
  const seen = intersect({ left: at.left, top: at.top, width: layer.width, height: layer.height }, picture);
  if (seen === undefined) return [];
  const source: Box = { ...seen, left: seen.left - at.left, top: seen.top - at.top };
  return [{ pixels: cut(layer, source), left: seen.left, top: seen.top }];
}

/** The layer repeated in every direction from where it sits. */
async function tiled(
  layer: Pixels,
  at: { left: number; top: number },
  picture: Size,
  { sharp }: PassContext,
): Promise<Layer> {
  if (Math.min(layer.width, layer.height) < SMALLEST_TILE_PX) {
    throw new BadArgument(
      'tile',
      `tile is true, but the layer is smaller than ${SMALLEST_TILE_PX} pixels: send a larger one.`,
    );
  }
  const left = modulo(at.left, layer.width);
  const top = modulo(at.top, layer.height);
  const { data: _, ...raw } = layer;
  const room = {
    left,
    top,
    right: Math.max(0, picture.width - layer.width),
    bottom: Math.max(0, picture.height - layer.height),
  };
  const { data } = await sharp(layer.data, { raw })
    .extend({ ...room, extendWith: 'repeat' })
    .raw()
    .toUint8Array();
  const sheet: Pixels = {
    data: data as Uint8Array<ArrayBuffer>,
    width: layer.width + left + room.right,
    height: layer.height + top + room.bottom,
    channels: 4,
    frames: 1,
  };
  return {
    pixels: cut(sheet, { left: 0, top: 0, width: picture.width, height: picture.height }),
    left: 0,
    top: 0,
  };
}

function modulo(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor;
}

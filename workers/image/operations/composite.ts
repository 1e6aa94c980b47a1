import { overlay } from '../overlay.ts';
import { BLEND_MODES } from '../pixels/blend.ts';
import { MAX_EDGE_PX, place } from '../pixels/geometry.ts';
import { fade, repeat } from '../pixels/paint.ts';
import { defineStep } from './operation.ts';
import { assetId, choice, flag, integer, number, optional, position } from './parameter.ts';

const offset = (description: string) => integer(-MAX_EDGE_PX, MAX_EDGE_PX, description);

export const composite = defineStep({
  description: 'Lays a second asset over the picture.',
  parameters: {
    layerAssetId: assetId('The asset to lay over.'),
    position: position('Where the layer sits when x and y are left out.', { default: 'southeast' }),
    x: optional(offset('Left edge of the layer in pixels; needs y, instead of position.')),
    y: optional(offset('Top edge of the layer in pixels; needs x, instead of position.')),
    scale: optional(
      number(0.01, 1, "Width of the layer as a share of the picture's; its own size when left out."),
    ),
    opacity: number(0, 1, 'How solid the layer is.', { default: 1 }),
    blend: choice(['over', ...BLEND_MODES], 'How the layer mixes with the picture.', { default: 'over' }),
    tile: flag('Whether the layer is repeated over the whole picture.', { default: false }),
  },
  // Other blend modes add an alpha channel for the blending and drop it afterwards, which takes a second copy.
  copies: ({ blend }) => (blend === 'over' ? 1 : 2),
  alphaAfter: 'kept',
  changesNothing: ({ opacity }) => opacity === 0,
  cpuMsPerMegapixel: ({ blend }) => (blend === 'over' ? 40 : 80),
  readsSecondAsset: 'layerAssetId',
  async apply(picture, { layerAssetId, position, x, y, scale, opacity, blend, tile }, pass) {
    const width = scale === undefined ? undefined : Math.max(1, Math.round(picture.width * scale));
    const layer = await pass.layer(layerAssetId, 'layerAssetId', (opened) =>
      (width === undefined ? opened : opened.resize({ width })).ensureAlpha(),
    );
    if (opacity < 1) fade(layer, opacity);
    const at =
      x === undefined || y === undefined ? place(layer, picture, position) : { ...layer, left: x, top: y };
    if (tile) await overlay(picture, repeat(layer, at, picture), { left: 0, top: 0 }, blend);
    else await overlay(picture, layer, at, blend);
  },
});

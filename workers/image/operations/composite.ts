import type { Size } from '../../formats/size.ts';
import { BLEND_MODES, overlayPicture } from '../overlay.ts';
import { MAX_EDGE_PX, marginPx, placeBoxWithMargin, sizeLimitError } from '../pixels/geometry.ts';
import { multiplyAlpha, repeatTile } from '../pixels/paint.ts';
import { BadArgumentError } from '../refusal.ts';
import { defineStepOperation } from './operation.ts';
import * as parameter from './parameter.ts';

const offsetParameter = (description: string) => parameter.integer(-MAX_EDGE_PX, MAX_EDGE_PX, description);

export const composite = defineStepOperation({
  description: 'Lays a second picture over the picture.',
  parameters: {
    layerAssetId: parameter.assetId('The asset to lay over.'),
    position: parameter.position('Place of the layer.', { default: 'southeast' }),
    margin: parameter.margin('Distance from the edges at position, as in text.', { default: 0 }),
    x: parameter.optional(offsetParameter('Left edge in pixels; needs y, instead of position.')),
    y: parameter.optional(offsetParameter('Top edge in pixels; needs x, instead of position.')),
    scale: parameter.optional(
      parameter.number(0.01, 1, "Width as a share of the picture's; its own size when left out."),
    ),
    opacity: parameter.number(0, 1, 'How solid the layer is.', { default: 1 }),
    blend: parameter.choice(['over', ...BLEND_MODES], 'How the layer mixes with the picture.', {
      default: 'over',
    }),
    tile: parameter.flag('Whether the layer is repeated, with margin between.', {
      default: false,
    }),
  },
  // For blend modes other than `over`, an alpha channel is added and then dropped, which takes a second copy.
  copies: ({ blend }) => (blend === 'over' ? 1 : 2),
  alphaAfter: 'kept',
  changesNothing: ({ opacity }) => opacity === 0,
  cpuMsPerMegapixel: ({ blend }) => (blend === 'over' ? 40 : 80),
  readsSecondAsset: 'layerAssetId',
  async apply(picture, { layerAssetId, position, margin, x, y, scale, opacity, blend, tile }, pass) {
    const width = scale === undefined ? undefined : Math.max(1, Math.round(picture.width * scale));
    const layer = await pass.layer(layerAssetId, 'layerAssetId', (opened, size) => {
      if (width === undefined) return opened.ensureAlpha();
      assertScaledLayerFits(size, width);
      return opened.resize({ width }).ensureAlpha();
    });
    if (opacity < 1) multiplyAlpha(layer, opacity);
    const at =
      x === undefined || y === undefined
        ? placeBoxWithMargin(layer, picture, position, margin)
        : { ...layer, left: x, top: y };
    if (tile) {
      const tiles = repeatTile(layer, at, picture, marginPx(margin, picture));
      await overlayPicture(picture, tiles, { left: 0, top: 0 }, blend);
      return;
    }
    const drawn = await overlayPicture(picture, layer, at, blend);
    if (drawn === 'all') return;
    const code = drawn === 'part' ? 'layer_cut' : 'layer_outside';
    pass.sideResults.warnings.push({ code, name: `${layer.width}x${layer.height}` });
  },
});

/** @throws BadArgumentError on `scale` if a layer of that width would be larger than a picture may be. */
function assertScaledLayerFits(layer: Size, width: number): void {
  const height = Math.max(1, Math.round((layer.height * width) / layer.width));
  const fault = sizeLimitError({ width, height });
  if (fault === undefined) return;
  const message = `The scale makes a layer of ${width} × ${height} pixels, which is more than is worked on: send a smaller one.`;
  throw new BadArgumentError('scale', message, fault.details);
}

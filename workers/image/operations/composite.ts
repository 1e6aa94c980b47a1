import type { Size } from '../../formats/size.ts';
import { overlay } from '../overlay.ts';
import { BLEND_MODES } from '../pixels/blend.ts';
import { MAX_EDGE_PX, placeWithin, sizeFault } from '../pixels/geometry.ts';
import { multiplyAlpha, repeat } from '../pixels/paint.ts';
import { BadArgument } from '../refusal.ts';
import { defineStep } from './operation.ts';
import { assetId, choice, flag, integer, margin, number, optional, position } from './parameter.ts';

const offset = (description: string) => integer(-MAX_EDGE_PX, MAX_EDGE_PX, description);

export const composite = defineStep({
  description: 'Lays a second picture over the picture.',
  parameters: {
    layerAssetId: assetId('The asset to lay over.'),
    position: position('Place of the layer.', { default: 'southeast' }),
    margin: margin('Distance from the edges at position, as in text.', { default: 0 }),
    x: optional(offset('Left edge in pixels; needs y, instead of position.')),
    y: optional(offset('Top edge in pixels; needs x, instead of position.')),
    scale: optional(number(0.01, 1, "Width as a share of the picture's; its own size when left out.")),
    opacity: number(0, 1, 'How solid the layer is.', { default: 1 }),
    blend: choice(['over', ...BLEND_MODES], 'How the layer mixes with the picture.', { default: 'over' }),
    tile: flag('Whether the layer is repeated over the picture.', { default: false }),
  },
  // Other blend modes add an alpha channel for the blending and drop it afterwards, which takes a second copy.
  copies: ({ blend }) => (blend === 'over' ? 1 : 2),
  alphaAfter: 'kept',
  changesNothing: ({ opacity }) => opacity === 0,
  cpuMsPerMegapixel: ({ blend }) => (blend === 'over' ? 40 : 80),
  readsSecondAsset: 'layerAssetId',
  async apply(picture, { layerAssetId, position, margin, x, y, scale, opacity, blend, tile }, pass) {
    const width = scale === undefined ? undefined : Math.max(1, Math.round(picture.width * scale));
    const layer = await pass.layer(layerAssetId, 'layerAssetId', (opened, size) => {
      if (width === undefined) return opened.ensureAlpha();
      assertScalable(size, width);
      return opened.resize({ width }).ensureAlpha();
    });
    if (opacity < 1) multiplyAlpha(layer, opacity);
    const at =
      x === undefined || y === undefined
        ? placeWithin(layer, picture, position, margin)
        : { ...layer, left: x, top: y };
    if (tile) await overlay(picture, repeat(layer, at, picture), { left: 0, top: 0 }, blend);
    else await overlay(picture, layer, at, blend);
  },
});

/** @throws BadArgument on `scale` if a layer of that width would be larger than a picture may be. */
function assertScalable(layer: Size, width: number): void {
  const height = Math.max(1, Math.round((layer.height * width) / layer.width));
  const fault = sizeFault({ width, height });
  if (fault === undefined) return;
  const message = `The scale makes a layer of ${width} × ${height} pixels, which is more than is worked on: send a smaller one.`;
  throw new BadArgument('scale', message, fault.details);
}

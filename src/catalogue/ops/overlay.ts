import { assetId, choice, flag, integer, number, optional, position } from '../parameter.ts';
import { pixelOp, step } from '../pixel-op.ts';

const BLENDS = [
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
] as const;

export const overlay = pixelOp({
  op: 'overlay',
  description: 'Lays another asset, such as a logo or watermark, over each picture; in jobs only.',
  parameters: {
    layerAssetId: assetId('The asset to lay over.'),
    position: position('Where the layer sits when x and y are left out.', { default: 'southeast' }),
    x: optional(
      integer(-16384, 16384, 'Left edge of the layer in pixels; comes with y, instead of position.'),
    ),
    y: optional(
      integer(-16384, 16384, 'Top edge of the layer in pixels; comes with x, instead of position.'),
    ),
    scale: optional(
      number(0.01, 1, "Width of the layer as a share of the picture's; its own size when left out."),
    ),
    opacity: number(0, 1, 'How solid the layer is.', { default: 1 }),
    blend: choice(BLENDS, 'How the layer mixes with the picture.', { default: 'over' }),
    tile: flag('Whether the layer is repeated over the whole picture.', { default: false }),
  },
  example: { layerAssetId: 'ast_111111111111111111111111', position: 'southeast', scale: 0.2, opacity: 0.8 },
  rule(given) {
    if ((given.x === undefined) === (given.y === undefined)) return undefined;
    const missing = given.x === undefined ? 'x' : 'y';
    return {
      key: missing,
      message: `${missing} is missing: x and y come together.`,
      details: { missing: [missing] },
    };
  },
  compile({ layerAssetId, position, x, y, scale, opacity, blend, tile }) {
    const place = x === undefined ? { position } : { x, y };
    return { steps: [step('composite', { layerAssetId, ...place, scale, opacity, blend, tile })] };
  },
  sync: false,
});

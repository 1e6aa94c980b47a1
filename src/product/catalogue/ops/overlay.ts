import { defineOperationOp } from '../pixel-op.ts';

export const overlayOp = defineOperationOp('composite', {
  op: 'overlay',
  description:
    'Lays a second picture, such as a logo, over each: an asset; in steps of a transform also a part layer (then layer2), or layerUrl.',
  example: { layerAssetId: 'ast_111111111111111111111111', position: 'southeast', scale: 0.2, opacity: 0.8 },
  rule({ x, y, margin }) {
    if ((x === undefined) !== (y === undefined)) {
      const missing = x === undefined ? 'x' : 'y';
      return {
        key: missing,
        message: `${missing} is missing: send x and y together.`,
        details: { missing: [missing] },
      };
    }
    if (x === undefined || margin === undefined) return undefined;
    const message =
      'margin is the distance from the edges at a position: leave it out, or leave out x and y.';
    return { key: 'margin', message, details: { suggest: ['margin', 'x', 'y'] } };
  },
});

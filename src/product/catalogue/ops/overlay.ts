import { operationOp } from '../pixel-op.ts';

export const overlay = operationOp('composite', {
  op: 'overlay',
  description: 'Lays another asset, such as a logo or watermark, over each picture; in jobs only.',
  example: { layerAssetId: 'ast_111111111111111111111111', position: 'southeast', scale: 0.2, opacity: 0.8 },
  rule(given) {
    if ((given.x === undefined) === (given.y === undefined)) return undefined;
    const missing = given.x === undefined ? 'x' : 'y';
    return {
      key: missing,
      message: `${missing} is missing: send x and y together.`,
      details: { missing: [missing] },
    };
  },
  sync: false,
});

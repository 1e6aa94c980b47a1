import { argumentsSchema } from '../../../../workers/image/operations/arguments.ts';
import * as parameter from '../../../../workers/image/operations/parameter.ts';
import type { PixelOp } from '../op.ts';
import { defineImageOp, JSON_OP_MEMBERS } from '../pixel-op.ts';

export const overlayOp = defineImageOp('composite', {
  op: 'overlay',
  description:
    'Lays a second picture, such as a logo, over each: an asset; in steps of a transform also a part layer (then layer2), or layerUrl.',
  example: { layerAssetId: 'ast_111111111111111111111111', position: 'southeast', scale: 0.2, opacity: 0.8 },
  findInvalidParameter({ x, y, margin }) {
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

/** The parameter that adds the SSIMULACRA 2 score to a comparison, for the op and for the synchronous call. */
export const SCORE_PARAMETER = parameter.optional(
  parameter.flag('Adds that score; for 8 pixels per edge to 4 megapixels.'),
);

export const compareOp: PixelOp<'compare'> = {
  ...JSON_OP_MEMBERS,
  op: 'compare',
  description:
    'Compares each first frame with another asset: JSON of ssim, changedShare, maxDifference and regions. POST /api/v1/images/compare compares two at once.',
  parameters: argumentsSchema({
    otherAssetId: parameter.assetId('The other asset.'),
    ssimulacra2: SCORE_PARAMETER,
  }),
  example: { parameters: { otherAssetId: 'ast_111111111111111111111111' } },
  compile: ({ otherAssetId, ssimulacra2 }) => ({
    decode: {},
    steps: [],
    encode: {},
    compareWith: String(otherAssetId),
    ...(ssimulacra2 === true && { isScored: true }),
  }),
};

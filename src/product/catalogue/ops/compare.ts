import { argumentsSchema, assetId, flag, optional } from '../../../../workers/image/operations/parameter.ts';
import type { PixelOp } from '../op.ts';

/** Whether the answer has the score of SSIMULACRA 2 too: a parameter of the op, and of the synchronous call. */
export const SCORE = optional(flag('Adds that score; for 8 pixels per edge to 4 megapixels.'));

export const compare: PixelOp<'compare'> = {
  op: 'compare',
  runs: 'pass',
  kind: 'deterministic',
  description:
    'Compares each first frame with another asset: JSON of ssim, changedShare, maxDifference and regions. POST /api/v1/images/compare compares two at once.',
  parameters: argumentsSchema({ otherAssetId: assetId('The other asset.'), ssimulacra2: SCORE }),
  fields: {},
  produces: 'json',
  requiresAssets: true,
  requiresPrompt: false,
  jobType: 'process',
  example: { parameters: { otherAssetId: 'ast_111111111111111111111111' } },
  renamed: {},
  compile: ({ otherAssetId, ssimulacra2 }) => ({
    decode: {},
    steps: [],
    encode: {},
    compareWith: String(otherAssetId),
    ...(ssimulacra2 === true && { isScored: true }),
  }),
};

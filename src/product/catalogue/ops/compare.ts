import { argumentsSchema, assetId } from '../../../../workers/image/operations/parameter.ts';
import type { PixelOp } from '../op.ts';

export const compare: PixelOp<'compare'> = {
  op: 'compare',
  runs: 'pass',
  kind: 'deterministic',
  description:
    'Compares each picture (its first frame) with another asset: JSON of ssim, changedShare, maxDifference and the changed regions. In steps: last. POST /api/v1/images/compare compares two images while you wait.',
  parameters: argumentsSchema({ otherAssetId: assetId('The asset to compare with.') }),
  fields: {},
  produces: 'json',
  requiresAssets: true,
  requiresPrompt: false,
  jobType: 'process',
  example: { parameters: { otherAssetId: 'ast_111111111111111111111111' } },
  renamed: {},
  compile: ({ otherAssetId }) => ({ decode: {}, steps: [], encode: {}, compareWith: String(otherAssetId) }),
};

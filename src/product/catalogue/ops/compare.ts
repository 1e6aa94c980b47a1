import { assetId, contract } from '../../../../workers/image/operations/parameter.ts';
import type { PixelOp } from '../op.ts';

export const compare: PixelOp<'compare'> = {
  op: 'compare',
  runs: 'pass',
  kind: 'deterministic',
  description:
    'Compares each picture (the first frame of an animation) with another asset and answers JSON: ssim, changedShare, maxDifference and the changed regions; in jobs, as the last step. POST /api/v1/images/compare answers the same of two images while the caller waits.',
  parameters: contract({ otherAssetId: assetId('The asset to compare with.') }),
  fields: {},
  produces: 'json',
  requiresAssets: true,
  requiresPrompt: false,
  jobType: 'process',
  example: { parameters: { otherAssetId: 'ast_111111111111111111111111' } },
  renamed: {},
  compile: ({ otherAssetId }) => ({ decode: {}, steps: [], encode: {}, compareWith: String(otherAssetId) }),
};

import type { PictureSize } from '../../platform/http/errors/corrections.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import type { AssetReader } from './content/reader.ts';

/**
 * The size of the picture, if a call has exactly one asset. Null for several assets, and for an id that is not an asset
 * of the account.
 */
export async function findOnlyAssetSize(
  assets: Pick<AssetReader, 'find'>,
  accountId: string,
  [assetId, ...others]: readonly unknown[],
): Promise<PictureSize | null> {
  if (typeof assetId !== 'string' || others.length > 0) return null;
  try {
    const { width, height } = (await assets.find(accountId, assetId, 'assetId')).facts;
    return { width, height };
  } catch (error) {
    if (error instanceof ApiError) return null;
    throw error;
  }
}

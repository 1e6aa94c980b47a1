import { ApiError, invalidParam } from '../../platform/http/errors/errors.ts';
import { type AssetDocument, assetOf } from './asset.ts';
import { findDone } from './content/reading.ts';
import { DEFAULT_DISTANCE } from './likeness.ts';
import type { AssetListQuery } from './schema.ts';
import type { AssetsStore } from './store.ts';

/** An asset with the number of bits in which its perceptual hash differs from that of another. */
type SimilarAsset = AssetDocument & { distance: number };

/** The fields of a listing that have no meaning beside similarTo. */
const EXCLUDED = ['collection', 'status', 'origin', 'jobId', 'cursor'] as const;

/**
 * One page of the assets that look like another one, nearest first, without itself.
 * @throws ApiError asset_not_found and invalid_state on similarTo; invalid_param on a field that does not go with it.
 */
export async function similarAssets(
  store: AssetsStore,
  accountId: string,
  assetId: string,
  query: AssetListQuery,
) {
  const field = EXCLUDED.find((name) => query[name] !== undefined);
  if (field !== undefined) {
    const message = `${field} does not go with similarTo, which lists similar assets of every kind by page: leave it out.`;
    throw invalidParam(field, message);
  }
  const asset = await findDone(store, accountId, assetId).catch((error: unknown) => {
    throw error instanceof ApiError ? ofSimilarTo(error) : error;
  });
  const { perceptualHash } = asset.image;
  if (perceptualHash === undefined) {
    const message = 'This asset was stored before likeness was measured: delete it and upload it again.';
    throw new ApiError('invalid_state', message, { param: 'similarTo' });
  }
  return store.similar(asset, perceptualHash, query.distance ?? DEFAULT_DISTANCE, query);
}

/** The asset as the API shows it, with its distance. */
export function similarOf(asset: SimilarAsset) {
  return { ...assetOf(asset), distance: asset.distance };
}

function ofSimilarTo({ code, message, details }: ApiError): ApiError {
  return new ApiError(code, message, { param: 'similarTo', details });
}

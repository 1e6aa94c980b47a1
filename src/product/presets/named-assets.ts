import { invalidParam } from '../../platform/http/errors.ts';
import type { NamedAsset } from '../catalogue/plan/named-assets.ts';

/** Those of the ids that are not DONE assets of the account. */
export type MissingAssets = (accountId: string, assetIds: readonly string[]) => Promise<string[]>;

/**
 * Refuses a version that names an asset other than a DONE asset of the account.
 * @throws ApiError invalid_param on the first parameter at fault, with its ids in details.missing.
 */
export async function checkNamedAssets(
  named: readonly NamedAsset[],
  accountId: string,
  missingAssets: MissingAssets,
): Promise<void> {
  if (named.length === 0) return;
  const ids = named.map(({ assetId }) => assetId);
  const absent = new Set(await missingAssets(accountId, ids));
  const param = named.find(({ assetId }) => absent.has(assetId))?.param;
  if (param === undefined) return;
  const missing = named
    .filter((asset) => asset.param === param && absent.has(asset.assetId))
    .map(({ assetId }) => assetId);
  const message = `${param} refers to ${missing.join(', ')}: send ids of your own assets with status DONE.`;
  throw invalidParam(param, message, { missing });
}

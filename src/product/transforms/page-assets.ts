import type { ImagePass } from '../../../workers/protocol.ts';
import type { StoredFile } from '../../imaging/images/image-call.ts';
import type { RenderRequest } from '../../imaging/renders/renders.ts';
import { ApiError, invalidParamError } from '../../platform/http/errors/errors.ts';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';
import type { AssetReader } from '../assets/content/reader.ts';
import type { MeteredCallOptions, PoolCallOptions, SyncCall } from './metered-call.ts';

/**
 * Finds the assets to which a page refers, as `asset://<assetId>` or by the service's own URL of their content, signed
 * or not. References may be anywhere in the document.
 */

const ASSET_URL_PATTERN = /asset:\/\/(ast_[0-9A-Za-z]+)/g;

/**
 * The ids of the assets to which a document refers, without duplicates, in order. The caller must check whether they
 * exist and belong to the account.
 *
 * @param html the result of withAssetScheme
 */
export function assetIdsIn(html: string): string[] {
  const named = html.matchAll(ASSET_URL_PATTERN);
  return [...new Set([...named].map(([, assetId]) => assetId ?? ''))];
}

/**
 * Replaces every URL of an asset's content in a document by `asset://<assetId>`, which is the only form that workers
 * know. It must be called before the document is used in any other way.
 *
 * @param publicUrl base of the service's own links, such as `https://images.example.com`
 */
export function withAssetScheme(html: string, publicUrl: string): string {
  const base = RegExp.escape(publicUrl.replace(/\/+$/, ''));
  const ownAddress = new RegExp(
    `${base}/api/v1/assets/(ast_[0-9A-Za-z]+)(?:/content)?(?:\\?[^\\s"'<>()\\\\]*)?(?![\\w/-])`,
    'g',
  );
  return html.replace(ownAddress, 'asset://$1');
}

const MAX_PAGE_ASSETS = 50;
const MAX_PAGE_ASSETS_BYTES = 64 * MEGABYTE_BYTES;

/** Media types that the service reads, but browsers cannot draw. */
const UNDRAWABLE_TYPES: readonly string[] = ['image/tiff'];

/** The assets of a page: the files of those that exist, by id, and the ids of the missing ones. */
interface PageAssets {
  files: ReadonlyMap<string, StoredFile>;
  missing: string[];
}

/**
 * Finds the account's assets to which a document refers. An asset that does not exist, or belongs to another account,
 * is not loaded, and the page is drawn without it.
 * @param html the result of withAssetScheme
 */
export async function findPageAssets(
  html: string,
  accountId: string,
  assets: Pick<AssetReader, 'find'>,
): Promise<PageAssets> {
  const ids = assetIdsIn(html);
  if (ids.length > MAX_PAGE_ASSETS) {
    const message = `The page names ${ids.length} assets: at most ${MAX_PAGE_ASSETS} are loaded.`;
    throw invalidParamError('data', message, { limit: MAX_PAGE_ASSETS });
  }
  const files = new Map<string, StoredFile>();
  const missing: string[] = [];
  let sizeBytes = 0;
  for (const id of ids) {
    const file = await assets.find(accountId, id).catch(nullIfAssetMissing);
    if (file === null) {
      missing.push(id);
      continue;
    }
    sizeBytes += file.length;
    checkTotalAssetsSize(sizeBytes);
    files.set(id, file);
  }
  return { files, missing };
}

function checkTotalAssetsSize(sizeBytes: number): void {
  if (sizeBytes <= MAX_PAGE_ASSETS_BYTES) return;
  const message = `The assets of the page are larger than ${MAX_PAGE_ASSETS_BYTES} bytes together.`;
  throw invalidParamError('data', message, { limit: MAX_PAGE_ASSETS_BYTES });
}

interface ReadAssetsOptions extends Pick<MeteredCallOptions, 'imageWorkers'> {
  terms: PoolCallOptions;
  /** Waits for work on an asset, such as its conversion. The account's slot is held until the work has ended. */
  finish: SyncCall['finish'];
}

/** Reads the assets of a page, in a form that a browser can draw. */
export async function readPageAssets(
  files: PageAssets['files'],
  options: ReadAssetsOptions,
): Promise<RenderRequest['assets']> {
  const assets: RenderRequest['assets'] = {};
  let sizeBytes = 0;
  for (const [id, file] of files) {
    const bytes = await file.read().catch(nullIfAssetMissing);
    // Null means that the asset was deleted after its file had been found.
    if (bytes === null) continue;
    const drawable = await makeDrawableAsset(id, bytes, file.facts.mimeType, options);
    // The size is checked again, because a converted asset may be larger than its file.
    sizeBytes += drawable.data.length;
    checkTotalAssetsSize(sizeBytes);
    assets[id] = drawable;
  }
  return assets;
}

/**
 * An asset in a form that a browser can draw: its own file, or its first frame as a PNG.
 * @throws ApiError invalid_param on data when the asset cannot be converted; provider_unavailable.
 */
async function makeDrawableAsset(
  id: string,
  bytes: Uint8Array,
  mimeType: string,
  { imageWorkers, terms, finish }: ReadAssetsOptions,
): Promise<RenderRequest['assets'][string]> {
  if (!UNDRAWABLE_TYPES.includes(mimeType)) return { data: bytes, contentType: mimeType };
  const work = imageWorkers.transform({ bytes, pass: PNG_PASS, ...terms });
  const { data, contentType } = await finish(work).catch((error) => {
    if (!(error instanceof ApiError) || error.status >= 500) throw error;
    const message = `The page names ${id}, which cannot be used as a picture: ${error.message}`;
    throw invalidParamError('data', message);
  });
  return { data, contentType };
}

const PNG_PASS: ImagePass = { decode: { frame: 'first' }, steps: [], encode: { format: 'png' } };

function nullIfAssetMissing(error: unknown): null {
  if (error instanceof ApiError && (error.code === 'asset_not_found' || error.code === 'invalid_state'))
    return null;
  throw error;
}

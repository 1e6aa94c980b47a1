import { setTimeout as sleep } from 'node:timers/promises';
import { READABLE_MEDIA_TYPES } from '../../../platform/http/bodies/image-body.ts';
import { ApiError } from '../../../platform/http/errors/errors.ts';
import { DuplicateKeyError } from '../../../platform/stores/documents/port.ts';
import type { ObjectStore } from '../../../platform/stores/objects/port.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import {
  type AssetContentFields,
  type AssetDocument,
  type AssetLabels,
  type AssetPalette,
  type ContentChecksums,
  descriptionFieldsOf,
  newAssetDocument,
  newObjectKey,
} from '../asset.ts';
import type { AssetCollections } from '../collections.ts';
import {
  alreadyUploadedError,
  assetCountExceededError,
  assetNotFoundError,
  wrongContentTypeError,
} from '../errors.ts';
import { FAILED_ASSET_LIFE_MS, MAX_UNFINISHED_UPLOAD_MS, UPLOAD_URL_LIFE_MS } from '../limits.ts';
import type { AssetQuota } from '../quota.ts';
import type { AssetRemoval } from '../removal.ts';
import { assetNameOrNull } from '../rules.ts';
import type { AssetsStore } from '../store.ts';
import type { ExaminedImage, IncomingImage, UploadIntake } from './intake.ts';

interface UploadsOptions {
  store: AssetsStore;
  quota: AssetQuota;
  collections: AssetCollections;
  intake: UploadIntake;
  removal: AssetRemoval;
  objects: ObjectStore;
  /** The maximum number of assets that a plan may store. */
  maxStoredAssetsOf: (plan: string) => number;
  topUpUrl: () => string;
  now: () => Date;
}

export interface AssetOwner {
  accountId: string;
  plan: string;
}

const MAX_QUOTA_ATTEMPTS = 100;
const MAX_QUOTA_PAUSE_MS = 100;

/** The stored bytes of an upload that is not an asset yet. */
export interface StoredUpload {
  document: AssetDocument;
  objectKey: string;
  sums: ContentChecksums;
}

export interface UploadedAsset {
  asset: AssetDocument;
  /** False when the account already had an asset with these bytes. */
  isNew: boolean;
  /** The palette, if the caller requested it. */
  palette?: AssetPalette;
}

/** Options of `Uploads.finish`. */
export interface FinishOptions {
  /** Aborts when the client disconnects. */
  clientSignal: AbortSignal;
  /** The largest number of palette colours. Undefined: no palette is measured. */
  palette: number | undefined;
}

/**
 * Creates assets in four steps: a document in the state `arriving` is stored with the key of the object, the bytes are
 * stored and described, the asset is counted, and the document is made visible. After a crash before the last step, the
 * sweep finds the arriving document and removes it with its object and its quota.
 */
export class Uploads {
  readonly #options: UploadsOptions;

  constructor(options: UploadsOptions) {
    this.#options = options;
  }

  /**
   * Stores the bytes of an image. Afterwards, the caller must call either `finish` to make them an asset, or `abandon`.
   * @throws ApiError for the image or the object store. In this case, nothing is stored.
   */
  async storeBytes(
    { accountId }: AssetOwner,
    labels: AssetLabels,
    image: IncomingImage,
  ): Promise<StoredUpload> {
    const objectKey = newObjectKey();
    const name = assetNameOrNull(labels.name ?? undefined, image.filename);
    const begin = { ...labels, name, state: 'arriving', objectKey } as const;
    const document = newAssetDocument(accountId, begin, this.#options.now());
    await this.#options.store.insert(document);
    try {
      return { document, objectKey, sums: await this.#options.intake.store(objectKey, image) };
    } catch (error) {
      await this.#options.removal.abandon(document);
      throw error;
    }
  }

  /** Removes stored bytes that will not become an asset. */
  async abandon({ document }: StoredUpload): Promise<void> {
    await this.#options.removal.abandon(document);
  }

  /**
   * Makes stored bytes an asset. If the account has uploaded equal bytes before, the existing asset is returned.
   * @throws ApiError for the image, the plan's limit or the object store. In this case, nothing is stored.
   */
  async finish(
    owner: AssetOwner,
    { document, objectKey, sums }: StoredUpload,
    { clientSignal, palette }: FinishOptions,
  ): Promise<UploadedAsset> {
    let isNew = false;
    try {
      const same = await this.#findIdenticalOrRefuseFull(owner, sums.digest);
      if (same !== null && palette === undefined) return { asset: same, isNew };
      const described = await this.#options.intake.describe(
        owner.accountId,
        objectKey,
        clientSignal,
        palette,
      );
      const asset = same ?? (await this.#show(owner, document, contentFieldsOf(sums, described)));
      isNew = asset._id === document._id;
      return { asset, isNew, ...withoutAbsentFields({ palette: described.image.palette }) };
    } finally {
      if (!isNew) await this.#options.removal.abandon(document);
    }
  }

  /**
   * Creates an asset without bytes. Until `expiresAt`, anyone with its signed URL may send the bytes once.
   * @throws ApiError asset_count_exceeded
   */
  async reserveAsset(owner: AssetOwner, labels: Omit<AssetLabels, 'expiresAt'>): Promise<AssetDocument> {
    const begin = { ...labels, state: 'kept', objectKey: null, expiresAt: null } as const;
    const asset = newAssetDocument(owner.accountId, begin, this.#options.now());
    asset.expiresAt = uploadUrlExpiry(asset).toISOString();
    await this.#reserveQuota(owner, asset._id, null);
    await this.#options.store.insert(asset);
    await this.confirm(asset);
    return asset;
  }

  /**
   * Stores the bytes of a reserved asset, once.
   * @throws ApiError asset_not_found; invalid_state when bytes were sent before; an error for the image.
   */
  async upload(
    accountId: string,
    assetId: string,
    image: IncomingImage,
    options: FinishOptions,
  ): Promise<UploadedAsset> {
    const done = await this.tryUpload(accountId, assetId, image, options);
    if (done !== null) return done;
    const asset = await this.#options.store.find(accountId, assetId);
    throw asset === null ? assetNotFoundError(assetId) : alreadyUploadedError(asset.status);
  }

  /**
   * Stores the bytes of a reserved asset. Returns null when the asset does not wait for bytes. Of concurrent calls, on
   * any host, only one is accepted.
   * @param contentTypes the media types that the image may have.
   * @throws ApiError asset_not_found when the asset was deleted during the upload; an error for the image.
   */
  async tryUpload(
    accountId: string,
    assetId: string,
    image: IncomingImage,
    { clientSignal, palette }: FinishOptions,
    contentTypes: readonly string[] = READABLE_MEDIA_TYPES,
  ): Promise<UploadedAsset | null> {
    const objectKey = newObjectKey();
    const expiresAt = this.#fromNow(MAX_UNFINISHED_UPLOAD_MS).toISOString();
    const claimed = await this.#options.store.claimUpload(accountId, assetId, { objectKey, expiresAt });
    if (claimed === null) return null;
    try {
      const sums = await this.#options.intake.store(objectKey, image);
      const described = await this.#options.intake.describe(accountId, objectKey, clientSignal, palette);
      const { mimeType } = described.image;
      if (!contentTypes.includes(mimeType)) throw wrongContentTypeError(mimeType, contentTypes);
      const end = { ...contentFieldsOf(sums, described), status: 'DONE', expiresAt: null } as const;
      const asset = await this.#options.store.endUpload(claimed, end);
      if (asset === null) throw assetNotFoundError(assetId);
      return { asset, isNew: true, ...withoutAbsentFields({ palette: described.image.palette }) };
    } catch (error) {
      // If the upload cannot be undone, the asset expires as if nothing had been uploaded.
      await this.#undoUpload(claimed, objectKey, error).catch(() => undefined);
      throw error;
    }
  }

  /**
   * Adds a visible asset to its collection, and confirms its quota. If the process dies before that, the sweep confirms
   * the quota.
   */
  async confirm({ _id, accountId, collection }: AssetDocument): Promise<void> {
    if (collection !== null) await this.#options.collections.touch(accountId, collection);
    await this.#options.quota.confirm(accountId, _id);
  }

  #fromNow(ms: number): Date {
    return new Date(this.#options.now().getTime() + ms);
  }

  /**
   * Takes one unit of the quota. If a concurrent upload has made an asset from equal bytes, that asset is returned
   * instead. While other assets are being added or removed, the method waits until it is certain whether a unit is
   * free.
   * @throws ApiError asset_count_exceeded
   */
  async #reserveQuota(
    { accountId, plan }: AssetOwner,
    assetId: string,
    identity: string | null,
  ): Promise<AssetDocument | null> {
    const limit = this.#options.maxStoredAssetsOf(plan);
    for (let attempts = 1; attempts <= MAX_QUOTA_ATTEMPTS; attempts += 1) {
      const result = await this.#options.quota.reserve(accountId, assetId, limit);
      if (result === 'reserved') return null;
      const same = identity === null ? null : await this.#options.store.findIdentical(accountId, identity);
      if (same !== null) return same;
      if (result === 'full') break;
      await sleep(Math.random() * Math.min(attempts * 5, MAX_QUOTA_PAUSE_MS));
    }
    throw await this.#readAssetCountExceededError(accountId, limit);
  }

  async #readAssetCountExceededError(accountId: string, limit: number): Promise<ApiError> {
    const left = Math.max(0, limit - (await this.#options.quota.countStored(accountId)));
    return assetCountExceededError(limit, left, this.#options.topUpUrl());
  }

  /**
   * The account's existing asset with these bytes, or null. A full account is refused here, before the costly
   * description. Before the refusal the asset is looked up again, because a concurrent upload of the same bytes may
   * have taken the last unit of the quota.
   * @throws ApiError asset_count_exceeded
   */
  async #findIdenticalOrRefuseFull(
    { accountId, plan }: AssetOwner,
    digest: string,
  ): Promise<AssetDocument | null> {
    const limit = this.#options.maxStoredAssetsOf(plan);
    const same = await this.#options.store.findIdentical(accountId, digest);
    if (same !== null || !(await this.#options.quota.isFull(accountId, limit))) return same;
    const identical = await this.#options.store.findIdentical(accountId, digest);
    if (identical === null) throw await this.#readAssetCountExceededError(accountId, limit);
    return identical;
  }

  /**
   * Makes an asset visible after its bytes were stored and described. If the account already has an asset with these
   * bytes, the existing asset is returned instead.
   */
  async #show(owner: AssetOwner, asset: AssetDocument, content: AssetContentFields): Promise<AssetDocument> {
    const same = await this.#reserveQuota(owner, asset._id, content.digest);
    if (same !== null) return same;
    try {
      const shown = await this.#options.store.publish(asset, { ...content, identity: content.digest });
      if (shown === null) throw assetNotFoundError(asset._id);
      await this.confirm(shown);
      return shown;
    } catch (error) {
      if (!(error instanceof DuplicateKeyError)) throw error;
      const identical = await this.#options.store.findIdentical(asset.accountId, content.digest);
      if (identical === null) throw error;
      return identical;
    }
  }

  /**
   * Undoes an upload to a reserved asset. If the bytes were not an image, the asset becomes FAILED. After any other
   * failure, the URL can be used again. The key of the object is removed from the document last, so that the sweep can
   * find the object until it is deleted.
   */
  async #undoUpload(claimed: AssetDocument, objectKey: string, error: unknown): Promise<void> {
    const expiresAt = this.#fromNow(FAILED_ASSET_LIFE_MS).toISOString();
    const failed = await this.#options.store.endUpload(claimed, { status: 'FAILED', expiresAt });
    if (failed === null) return;
    await this.#options.objects.delete(objectKey);
    if (error instanceof ApiError && error.code === 'unsupported_format') return;
    const unused = {
      status: 'PENDING',
      objectKey: null,
      expiresAt: uploadUrlExpiry(claimed).toISOString(),
    } as const;
    await this.#options.store.endUpload(failed, unused);
  }
}

/** When the upload URL of a reserved asset expires. */
export function uploadUrlExpiry({ createdAt }: AssetDocument): Date {
  return new Date(Date.parse(createdAt) + UPLOAD_URL_LIFE_MS);
}

function contentFieldsOf(sums: ContentChecksums, { image, metadata }: ExaminedImage): AssetContentFields {
  return { ...sums, ...descriptionFieldsOf(image, metadata) };
}

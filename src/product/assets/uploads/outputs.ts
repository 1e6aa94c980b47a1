import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { ImageWorkers } from '../../../imaging/images/image-workers.ts';
import { asApiError } from '../../../platform/http/errors/failures.ts';
import { DuplicateKeyError } from '../../../platform/stores/documents/port.ts';
import type { ObjectStore } from '../../../platform/stores/objects/port.ts';
import {
  type AssetDocument,
  type AssetLabels,
  descriptionFieldsOf,
  newAssetDocument,
  newObjectKey,
} from '../asset.ts';
import type { AssetCollections } from '../collections.ts';
import type { AssetRemoval } from '../removal.ts';
import type { AssetsStore } from '../store.ts';
import type { ExaminedImage } from './intake.ts';

interface OutputsOptions {
  store: AssetsStore;
  collections: AssetCollections;
  removal: AssetRemoval;
  objects: ObjectStore;
  imageWorkers: ImageWorkers;
  now: () => Date;
}

/** The job and the item of an output, and how it is stored. */
interface OutputLabels extends Pick<AssetLabels, 'collection' | 'warnings' | 'expiresAt'> {
  accountId: string;
  jobId: string;
  itemIndex: number;
}

/** The time to describe an output that has no description yet. */
const DESCRIBE_TIMEOUT_MS = 60_000;

/**
 * The outputs of jobs as assets. An output is first `made`: stored and described, but not visible. It becomes visible
 * when it is recorded with its item, and is discarded when another attempt of the item was recorded. So each completed
 * item has exactly one asset, even if several processes worked on it. The job has reserved its quota.
 */
export class JobOutputs {
  readonly #options: OutputsOptions;

  constructor(options: OutputsOptions) {
    this.#options = options;
  }

  /**
   * Stores an output, which is not visible yet.
   * @param bytes are not changed.
   * @param known the description from the thread that made the bytes; without it, they are described here.
   * @param repeated runs the step that stores the asset, and may repeat it: each run stores the same asset.
   * @throws ApiError unsupported_format when it is not an image; internal_error with reason storage_full or
   *   store_unavailable when its bytes are not stored.
   */
  readonly make = async (
    labels: OutputLabels,
    bytes: Uint8Array<ArrayBuffer>,
    signal: AbortSignal,
    known?: ExaminedImage,
    repeated: (step: () => Promise<void>) => Promise<void> = (step) => step(),
  ): Promise<AssetDocument> => {
    const { accountId, ...label } = labels;
    const { image, metadata } = known ?? (await this.#describe(accountId, bytes, signal));
    const objectKey = newObjectKey();
    const begin = { ...label, name: null, origin: 'job', state: 'made', objectKey } as const;
    const asset: AssetDocument = {
      ...newAssetDocument(accountId, begin, this.#options.now()),
      status: 'DONE',
      digest: hash('sha256', bytes, 'hex'),
      crc32: crc32(bytes),
      ...descriptionFieldsOf(image, metadata),
    };
    await repeated(async () => {
      const inserted = this.#options.store.insert(asset).catch(unlessInserted);
      await this.#options.objects
        .put(objectKey, bytes, 'application/octet-stream', inserted)
        .catch(async (cause: unknown) => {
          await inserted;
          throw asApiError(cause);
        });
    });
    return asset;
  };

  /** Makes outputs of one account visible that were recorded with their items. It may be repeated. */
  async show(accountId: string, assetIds: readonly string[], collection: string | null): Promise<void> {
    if (assetIds.length === 0) return;
    const shown = await this.#options.store.showMade(accountId, assetIds);
    if (collection !== null && shown > 0) await this.#options.collections.touch(accountId, collection);
  }

  /** Removes an output that is recorded with no item. If that fails, the sweep removes it. */
  async discard(accountId: string, assetId: string): Promise<void> {
    const asset = await this.#options.store.abandon(accountId, assetId, 'made');
    if (asset !== null) await this.#options.removal.finish(asset);
  }

  /** For the sweep: outputs that were made before an instant, and neither made visible nor discarded since. */
  leftOver(before: Date, limit: number): Promise<AssetDocument[]> {
    return this.#options.store.madeBefore(before, limit);
  }

  /** Removes at most `limit` outputs of a job whose records have expired; returns how many. */
  async removeByJob(accountId: string, jobId: string, limit: number): Promise<number> {
    const assets = await this.#options.store.ofJob(accountId, jobId, limit);
    await this.#options.removal.removeAll(assets);
    return assets.length;
  }

  #describe(accountId: string, bytes: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<ExaminedImage> {
    const deadlineMs = Date.now() + DESCRIBE_TIMEOUT_MS;
    return this.#options.imageWorkers.describe({
      bytes: bytes.slice(),
      accountId,
      deadlineMs,
      signal,
      work: 'job',
    }).result;
  }
}

/** Ignores that the document is there: an earlier run of the step stored it, and its response was lost. */
function unlessInserted(error: unknown): void {
  if (!(error instanceof DuplicateKeyError) || error.index !== '_id_') throw error;
}

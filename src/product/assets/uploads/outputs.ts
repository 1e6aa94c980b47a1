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

/** The fields of an output that its job decides. */
interface OutputLabels extends Pick<AssetLabels, 'collection' | 'warnings' | 'expiresAt'> {
  accountId: string;
  jobId: string;
  itemIndex: number;
}

/** The time to describe an output that has no description yet. */
const DESCRIBE_TIMEOUT_MS = 60_000;

/**
 * The outputs of jobs as assets. An output is first `made`: stored and described, but not visible. It becomes visible
 * when it is recorded with its item, and is discarded when another attempt of the item was recorded. In this way each
 * completed item has exactly one asset, even if several processes worked on the item. The job has reserved the quota of
 * its outputs.
 */
export class JobOutputs {
  readonly #options: OutputsOptions;

  constructor(options: OutputsOptions) {
    this.#options = options;
  }

  /**
   * Stores an output. It is not visible yet.
   * @param bytes the file; it is not modified.
   * @param knownDescription the description from the thread that made the bytes. Without it, the bytes are described
   * here.
   * @param runStep runs the step that stores the asset. It may repeat the step, because each run stores the same asset.
   * @throws ApiError unsupported_format when the bytes are not an image; internal_error with reason storage_full or
   * store_unavailable when they cannot be stored.
   */
  readonly make = async (
    labels: OutputLabels,
    bytes: Uint8Array<ArrayBuffer>,
    signal: AbortSignal,
    knownDescription?: ExaminedImage,
    runStep: (step: () => Promise<void>) => Promise<void> = (step) => step(),
  ): Promise<AssetDocument> => {
    const { accountId, ...label } = labels;
    const { image, metadata } = knownDescription ?? (await this.#describe(accountId, bytes, signal));
    const objectKey = newObjectKey();
    const begin = { ...label, name: null, origin: 'job', state: 'made', objectKey } as const;
    const asset: AssetDocument = {
      ...newAssetDocument(accountId, begin, this.#options.now()),
      status: 'DONE',
      digest: hash('sha256', bytes, 'hex'),
      crc32: crc32(bytes),
      ...descriptionFieldsOf(image, metadata),
    };
    await runStep(async () => {
      const insertion = this.#options.store.insert(asset).catch(ignoreExistingDocument);
      await this.#options.objects
        .put(objectKey, bytes, 'application/octet-stream', insertion)
        .catch(async (cause: unknown) => {
          await insertion;
          throw asApiError(cause);
        });
    });
    return asset;
  };

  /** Makes the outputs of recorded items visible. A repetition has no further effect. */
  async show(accountId: string, assetIds: readonly string[], collection: string | null): Promise<void> {
    if (assetIds.length === 0) return;
    const shown = await this.#options.store.showOutputs(accountId, assetIds);
    if (collection !== null && shown > 0) await this.#options.collections.touch(accountId, collection);
  }

  /** Removes an output that belongs to no recorded item. If the removal fails, the sweep repeats it. */
  async discard(accountId: string, assetId: string): Promise<void> {
    const asset = await this.#options.store.abandon(accountId, assetId, 'made');
    if (asset !== null) await this.#options.removal.finish(asset);
  }

  /** Removes at most `limit` outputs of an expired job, and returns their number. */
  async removeByJob(accountId: string, jobId: string, limit: number): Promise<number> {
    const assets = await this.#options.store.findOutputs(accountId, jobId, limit);
    await this.#options.removal.removeAll(assets);
    return assets.length;
  }

  #describe(accountId: string, bytes: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<ExaminedImage> {
    const deadlineMs = Date.now() + DESCRIBE_TIMEOUT_MS;
    return this.#options.imageWorkers.describe({
      // The worker takes ownership of the bytes, so it gets a copy. `slice` would not copy a Buffer.
      bytes: new Uint8Array(bytes),
      accountId,
      deadlineMs,
      signal,
      work: 'job',
    }).result;
  }
}

/**
 * Ignores the error that the document exists already. An earlier run of the step stored the document, and only its
 * response was lost.
 */
function ignoreExistingDocument(error: unknown): void {
  if (!(error instanceof DuplicateKeyError) || error.index !== '_id_') throw error;
}

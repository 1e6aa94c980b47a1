import type { FastifyInstance } from 'fastify';
import type { ImageWorkers } from '../../imaging/images/image-workers.ts';
import type { LinkSigner } from '../../platform/http/signatures.ts';
import type { ProductSlice } from '../../platform/http/slice.ts';
import type { OutboundRequests } from '../../platform/outbound/outbound.ts';
import type { SweepTask } from '../../platform/periodic-tasks.ts';
import type { ProcessParts } from '../../platform/process-parts.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import { AssetCollections, collectionRoutes } from './collections.ts';
import { AccountLinks } from './content/links.ts';
import { AssetReader, AssetRecordCache } from './content/reader.ts';
import { contentRoutes } from './content/routes.ts';
import { MAX_FETCHED_IMAGE_BYTES, MAX_UNFINISHED_UPLOAD_MS, MAX_UPLOAD_BYTES } from './limits.ts';
import { AssetQuota, JobOutputQuota } from './quota.ts';
import { AssetRemoval } from './removal.ts';
import { assetRoutes } from './routes.ts';
import { AssetsStore } from './store.ts';
import { IncomingImageReader, UploadIntake } from './uploads/intake.ts';
import { JobOutputs } from './uploads/outputs.ts';
import { uploadRoutes } from './uploads/routes.ts';
import { ticketRoutes } from './uploads/tickets.ts';
import { Uploads } from './uploads/uploads.ts';

interface AssetsOptions extends Omit<ProcessParts, 'hostId' | 'processId' | 'draining'> {
  gate: CallGate;
  imageWorkers: ImageWorkers;
  outbound: OutboundRequests;
  signatures: LinkSigner;
  /** The maximum number of assets that a plan may store. */
  maxStoredAssetsOf: (plan: string) => number;
  /** The URL for changing the plan. The error for insufficient quota contains it. */
  topUpUrl: () => string;
  /** When the stores were opened. Absent if other hosts share them, whose uploads may have begun earlier. */
  storesOpenedAt?: Date;
}

export interface AssetsSlice extends ProductSlice {
  sweeps: readonly SweepTask[];
  /** Reads assets for synchronous calls. */
  reader: AssetReader;
  /**
   * Calls a listener whenever a process has deleted an asset.
   * @returns a function that removes the listener.
   */
  onDeleted(listener: (accountId: string, assetId: string) => void): Promise<() => void>;
  /** The number of an account's assets, including those that are being uploaded or deleted. */
  countAssets(accountId: string): Promise<number>;
  /** Finds which of these ids are not DONE assets of the account. */
  findMissingAssets(accountId: string, assetIds: readonly string[]): Promise<string[]>;
  jobs: JobAssets;
}

/** The assets of jobs: their inputs, the quota for their outputs, and the outputs. */
export interface JobAssets {
  /** Reads inputs. They may be as large as an upload. */
  reader: AssetReader;
  store: AssetsStore;
  quota: JobOutputQuota;
  outputs: JobOutputs;
}

/** Opens the assets: uploads, collections, content and links. */
export async function openAssets(options: AssetsOptions): Promise<AssetsSlice> {
  const { documents, objects, gate, imageWorkers, now, log } = options;
  const store = new AssetsStore(documents, now);
  const quota = new AssetQuota(documents, now);
  const collections = new AssetCollections(documents, store, now);
  const intake = new UploadIntake(options);
  const incoming = new IncomingImageReader(options.outbound);
  const links = new AccountLinks(options.signatures, options.publicUrl, now);
  const records = await AssetRecordCache.open(store, options.coordination, now);
  const removal = new AssetRemoval({ store, records, quota, objects, log });
  const inputs = new AssetReader(records, objects, MAX_UPLOAD_BYTES);
  const uploads = new Uploads({ ...options, store, quota, collections, intake, removal });
  const outputs = new JobOutputs({ store, collections, removal, objects, imageWorkers, now });

  return {
    async routes(app: FastifyInstance) {
      await app.register(uploadRoutes, { gate, uploads, incoming, links });
      await app.register(ticketRoutes, { gate, uploads, links });
      await app.register(assetRoutes, { gate, store, collections, removal, links, now });
      const content = { gate, store, objects, links, imageWorkers, reader: inputs, now };
      await app.register(contentRoutes, content);
      await app.register(collectionRoutes, { gate, collections });
    },

    reader: new AssetReader(records, objects, MAX_FETCHED_IMAGE_BYTES),

    onDeleted: (listener) => records.onDeleted(listener),

    countAssets: (accountId) => quota.countStored(accountId),

    async findMissingAssets(accountId, assetIds) {
      const usableIds = new Set(await store.findDoneIds(accountId, assetIds));
      return assetIds.filter((id) => !usableIds.has(id));
    },

    jobs: { reader: inputs, store, quota: new JobOutputQuota(documents, now), outputs },

    sweeps: createAssetSweeps({ storesOpenedAt: options.storesOpenedAt, store, quota, removal, uploads }),
    stop: async () => records.close(),
  };
}

interface AssetSweepsOptions {
  store: AssetsStore;
  quota: AssetQuota;
  removal: AssetRemoval;
  uploads: Uploads;
  /**
   * When the stores were opened, if no other host shares them: the process of an upload that began before that must
   * have died. Absent if hosts share the stores, because an upload of another host may run for up to
   * MAX_UNFINISHED_UPLOAD_MS.
   */
  storesOpenedAt?: Date | undefined;
}

const SWEEP_BATCH_SIZE = 100;

/** The sweeps that remove expired assets, and what dead processes left. Each may run in several processes at once. */
function createAssetSweeps(options: AssetSweepsOptions): SweepTask[] {
  const { store, quota, removal, uploads, storesOpenedAt } = options;
  /** The process of an unfinished upload or deletion that began before this instant must have died. */
  const latestStaleStart = (now: Date) =>
    new Date(Math.max(now.getTime() - MAX_UNFINISHED_UPLOAD_MS, storesOpenedAt?.getTime() ?? 0));

  /** Removes expired outputs, failed assets, and reserved assets whose upload URL expired unused. */
  async function removeExpired(now: Date): Promise<number> {
    return removal.removeAll(await store.findExpired(now, SWEEP_BATCH_SIZE));
  }

  /** Removes the objects and documents of unfinished uploads and unfinished deletions. */
  async function removeUnfinished(now: Date): Promise<number> {
    const assets = await store.abandonUnfinished(latestStaleStart(now), SWEEP_BATCH_SIZE);
    await removal.finishAll(assets);
    return assets.length;
  }

  /**
   * Completes old changes of the asset counters. For an unfinished upload or deletion, the entry in `moving` stays
   * until the next sweep: by then, `removeUnfinished` has decided whether the asset exists.
   */
  async function completeQuotaChanges(now: Date): Promise<number> {
    let cleared = 0;
    for (const { accountId, assetId } of await quota.findStaleMoves(latestStaleStart(now))) {
      const asset = await store.findAny(accountId, assetId);
      if (asset !== null && asset.state !== 'kept') continue;
      await (asset === null ? quota.giveBack(accountId, assetId) : uploads.confirm(asset));
      cleared += 1;
    }
    return cleared;
  }

  return [
    { name: 'expired assets', sweep: removeExpired },
    { name: 'unfinished assets', sweep: removeUnfinished },
    { name: 'places of assets', sweep: completeQuotaChanges },
  ];
}

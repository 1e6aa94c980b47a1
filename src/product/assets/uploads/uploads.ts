import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../../../platform/http/errors.ts';
import { present } from '../../../platform/names/present.ts';
import { DuplicateKeyError } from '../../../platform/stores/documents/port.ts';
import type { Objects } from '../../../platform/stores/objects/port.ts';
import { type AssetDocument, type Content, type Labels, newAsset, newObjectKey } from '../asset.ts';
import type { AssetCollections } from '../collections/collections.ts';
import { alreadyPut, assetCountExceeded, assetNotFound } from '../errors.ts';
import { FAILED_LIFE_MS, PUT_LIFE_MS, UNFINISHED_MS } from '../limits.ts';
import type { AssetQuota } from '../quota/asset-quota.ts';
import type { Removal } from '../removal.ts';
import { assetName } from '../rules.ts';
import type { AssetsStore } from '../store.ts';
import type { IncomingImage } from './incoming.ts';
import type { Facts, Intake } from './intake.ts';

interface ArrivalsOptions {
  store: AssetsStore;
  quota: AssetQuota;
  collections: AssetCollections;
  intake: Intake;
  removal: Removal;
  objects: Objects;
  /** Assets that a plan stores. */
  storedAssets: (plan: string) => number;
  upgradeUrl: () => string;
  now: () => Date;
}

interface Owner {
  accountId: string;
  plan: string;
}

/** An image that somebody sends. */
interface Sending {
  image: IncomingImage;
  /** Aborts when the sender has gone away. */
  client: AbortSignal;
}

interface Arrived {
  asset: AssetDocument;
  /** False when the account had these bytes already. */
  isNew: boolean;
}

const MOST_ENTRY_ATTEMPTS = 100;
const LONGEST_PAUSE_MS = 100;

/**
 * How assets come. The document is first, and hidden: it notes the key under which bytes are about to lie. The bytes
 * are stored, described, counted, and the document is shown. Until that last step nothing was promised to anybody; a
 * crash before it leaves a hidden document, which the sweep removes with its object and its place.
 */
export interface Arrivals {
  /**
   * Stores an image. An upload of bytes that the account has uploaded before is that asset.
   * @throws ApiError of the image, of the plan's limit, or of its bytes; nothing is left of it then.
   */
  receive(owner: Owner, labels: Labels, sending: Sending): Promise<Arrived>;
  /**
   * Makes an asset whose bytes are put later, by anybody who has its signed url, until its `expiresAt`.
   * @throws ApiError asset_count_exceeded
   */
  reserve(owner: Owner, labels: Omit<Labels, 'expiresAt'>): Promise<AssetDocument>;
  /**
   * Takes the bytes of a reserved asset, once.
   * @throws ApiError asset_not_found; invalid_state when they came before; of the image.
   */
  put(accountId: string, assetId: string, sending: Sending): Promise<AssetDocument>;
  /** The steps after an asset is shown; the sweep takes them for one whose process died before. */
  settle(asset: AssetDocument): Promise<void>;
}

export function createArrivals(options: ArrivalsOptions): Arrivals {
  const { store, quota, collections, intake, removal, objects, storedAssets, upgradeUrl, now } = options;
  const later = (ms: number) => new Date(now().getTime() + ms);

  /**
   * Takes a place of the plan, or answers the asset that these bytes have become meanwhile. Where other assets are
   * between in and out, it is not known yet whether there is a place.
   * @throws ApiError asset_count_exceeded
   */
  async function enter(
    { accountId, plan }: Owner,
    assetId: string,
    identity: string | null,
  ): Promise<AssetDocument | null> {
    const limit = storedAssets(plan);
    for (let attempts = 1; attempts <= MOST_ENTRY_ATTEMPTS; attempts += 1) {
      const entry = await quota.enter(accountId, assetId, limit);
      if (entry === 'entered') return null;
      const same = identity === null ? null : await store.findSame(accountId, identity);
      if (same !== null) return same;
      if (entry === 'full') break;
      await sleep(Math.random() * Math.min(attempts * 5, LONGEST_PAUSE_MS));
    }
    throw await exceeded(accountId, limit);
  }

  async function exceeded(accountId: string, limit: number): Promise<ApiError> {
    const left = Math.max(0, limit - (await quota.stored(accountId)));
    return assetCountExceeded(limit, left, upgradeUrl());
  }

  /**
   * The asset that the account has of these bytes already. A full account is refused before the costly description, but
   * not where its last place was taken by these very bytes meanwhile.
   * @throws ApiError asset_count_exceeded
   */
  async function knownOrRoom(
    { accountId, plan }: Owner,
    { origin }: AssetDocument,
    digest: string,
  ): Promise<AssetDocument | null> {
    const find = async () => (origin === 'upload' ? store.findSame(accountId, digest) : null);
    const limit = storedAssets(plan);
    const same = await find();
    if (same !== null || !(await quota.isFull(accountId, limit))) return same;
    const winner = await find();
    if (winner === null) throw await exceeded(accountId, limit);
    return winner;
  }

  /** Shows an asset whose bytes are stored and known, unless its account has them. */
  async function show(owner: Owner, asset: AssetDocument, digest: string, facts: Facts): Promise<Arrived> {
    const identity = asset.origin === 'upload' ? digest : null;
    const same = await enter(owner, asset._id, identity);
    if (same !== null) return { asset: same, isNew: false };
    try {
      const shown = await store.keep(asset, {
        ...contentOf(digest, facts),
        ...present({ identity }),
      });
      if (shown === null) throw assetNotFound(asset._id);
      await settle(shown);
      return { asset: shown, isNew: true };
    } catch (error) {
      if (!(error instanceof DuplicateKeyError)) throw error;
      const winner = await store.findSame(asset.accountId, digest);
      if (winner === null) throw error;
      return { asset: winner, isNew: false };
    }
  }

  async function settle({ _id, accountId, collection }: AssetDocument): Promise<void> {
    if (collection !== null) await collections.touch(accountId, collection);
    await quota.settle(accountId, _id);
  }

  async function arrive(
    owner: Owner,
    asset: AssetDocument,
    objectKey: string,
    { image, client }: Sending,
  ): Promise<Arrived> {
    const digest = await intake.store(objectKey, image);
    const same = await knownOrRoom(owner, asset, digest);
    if (same !== null) return { asset: same, isNew: false };
    const facts = await intake.describe(asset.accountId, objectKey, client);
    return show(owner, asset, digest, facts);
  }

  async function take(
    claimed: AssetDocument,
    objectKey: string,
    { image, client }: Sending,
  ): Promise<AssetDocument> {
    const digest = await intake.store(objectKey, image);
    const facts = await intake.describe(claimed.accountId, objectKey, client);
    const content = contentOf(digest, facts);
    const done = await store.endPut(claimed, { ...content, status: 'DONE', expiresAt: null });
    if (done === null) throw assetNotFound(claimed._id);
    return done;
  }

  /**
   * A put that brought no image fails its asset; any other failure is not the image's, and gives the url back. Either
   * way the asset has failed before its object goes, and forgets the key only after that.
   */
  async function undoPut(claimed: AssetDocument, objectKey: string, error: unknown): Promise<void> {
    const expiresAt = later(FAILED_LIFE_MS).toISOString();
    const failed = await store.endPut(claimed, { status: 'FAILED', expiresAt });
    if (failed === null) return;
    await objects.delete(objectKey);
    if (error instanceof ApiError && error.code === 'unsupported_format') return;
    const unused = { status: 'PENDING', objectKey: null, expiresAt: putEnd(claimed) } as const;
    await store.endPut(failed, unused);
  }

  return {
    async receive(owner, labels, sending) {
      const objectKey = newObjectKey();
      const name = assetName(labels.name ?? undefined, sending.image.filename);
      const asset = newAsset(owner.accountId, { ...labels, name, state: 'arriving', objectKey }, now());
      await store.insert(asset);
      try {
        const arrived = await arrive(owner, asset, objectKey, sending);
        if (!arrived.isNew) await removal.abandon(asset);
        return arrived;
      } catch (error) {
        await removal.abandon(asset);
        throw error;
      }
    },

    async reserve(owner, labels) {
      const begin = { ...labels, state: 'kept', objectKey: null, expiresAt: null } as const;
      const asset = newAsset(owner.accountId, begin, now());
      asset.expiresAt = putEnd(asset);
      await enter(owner, asset._id, null);
      await store.insert(asset);
      await settle(asset);
      return asset;
    },

    async put(accountId, assetId, sending) {
      const objectKey = newObjectKey();
      const expiresAt = later(UNFINISHED_MS).toISOString();
      const claimed = await store.claimPut(accountId, assetId, { objectKey, expiresAt });
      if (claimed === null) {
        const asset = await store.find(accountId, assetId);
        throw asset === null ? assetNotFound(assetId) : alreadyPut(asset.status);
      }
      try {
        return await take(claimed, objectKey, sending);
      } catch (error) {
        // An upload that cannot be undone now expires, as an asset that was never put.
        await undoPut(claimed, objectKey, error).catch(() => undefined);
        throw error;
      }
    },

    settle,
  };
}

/** When the url of a reserved asset ends. */
function putEnd({ createdAt }: AssetDocument): string {
  return new Date(Date.parse(createdAt) + PUT_LIFE_MS).toISOString();
}

function contentOf(digest: string, { image, metadata }: Facts): Content {
  return { digest, image, metadata: JSON.stringify(metadata) };
}

import { hashDistance } from '../../../workers/image/facts/perceptual-hash.ts';
import type { ListPageMeta } from '../../platform/http/envelope.ts';
import {
  collectParts,
  type ListPage,
  type OnLongRead,
  ROWS_PER_READ,
  readListPage,
  requestedPageNumber,
  requestedPageSize,
} from '../../platform/http/lists.ts';
import { smallestIdAt } from '../../platform/ids/ids.ts';
import {
  type DeclaredCollection,
  type DocumentCollection,
  type DocumentStore,
  type IndexSpec,
  sortBy,
} from '../../platform/stores/documents/port.ts';
import { inBatches } from '../../platform/values/batches.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import type { AssetContentFields, AssetDocument, AssetStatus } from './asset.ts';
import { HASH_FIELDS, HASH_INDEXES, joinHashBytes, similarHashFilters } from './likeness.ts';
import type { AssetListQuery } from './schema.ts';

const ASSET_INDEXES: readonly IndexSpec[] = [
  // This index is unique, so that concurrent uploads of equal bytes become one asset.
  { name: 'identity', fields: sortBy('accountId', 'identity'), unique: true, whenPresent: ['identity'] },
  { name: 'newest', fields: sortBy('accountId', 'state', '-_id') },
  { name: 'collection', fields: sortBy('accountId', 'state', 'collection', '-_id') },
  { name: 'jobItems', fields: sortBy('accountId', 'state', 'jobId', 'itemIndex', '_id') },
  { name: 'state', fields: sortBy('state', 'stateAt') },
  { name: 'expiresAt', fields: sortBy('expiresAt') },
  ...HASH_INDEXES,
];

export const ASSETS_COLLECTION: DeclaredCollection = {
  name: 'assets',
  indexes: ASSET_INDEXES,
  onAccountDeletion: 'expire',
};

const NEWEST_FIRST = sortBy('-_id');
const IN_ITEM_ORDER = sortBy('itemIndex', '_id');
const OLDEST_FIRST = sortBy('_id');
const IDS_PER_READ = 1_000;
/**
 * The number of documents in one read of hashes. It is small, because the store may have to read up to 128 KB of tags
 * in each document.
 */
const HASHES_PER_READ = 200;

/** Which images to select. The times are ISO instants, and both ends are inclusive. */
export interface AssetSelection {
  collection?: string;
  createdFrom?: string;
  createdTo?: string;
}

/** The fields of an asset that a download needs. */
export interface StoredAssetContent {
  id: string;
  accountId: string;
  name: string | null;
  format: string;
  sizeBytes: number;
  /** SHA-256 of the bytes, in hexadecimal. */
  digest: string;
  crc32: number;
  objectKey: string;
}

/** The assets of the accounts. Methods that take an account return only its own assets. */
export class AssetsStore {
  readonly #assets: DocumentCollection<AssetDocument>;
  readonly #now: () => Date;

  constructor(documents: DocumentStore, now: () => Date) {
    this.#assets = documents.collection(ASSETS_COLLECTION);
    this.#now = now;
  }

  async find(accountId: string, assetId: string): Promise<AssetDocument | null> {
    return this.#assets.findOne({ _id: assetId, accountId, state: 'kept' });
  }

  /** The uploaded asset of the account with the same bytes, if there is one. */
  async findIdentical(accountId: string, identity: string): Promise<AssetDocument | null> {
    return this.#assets.findOne({ accountId, identity, state: 'kept' });
  }

  /** Finds which of these ids are DONE assets of the account. */
  async findDoneIds(accountId: string, assetIds: readonly string[]): Promise<string[]> {
    const found = await this.#findKept(accountId, assetIds, ['status']);
    return found.filter(({ status }) => status === 'DONE').map(({ _id }) => _id);
  }

  /** One page of assets: newest first, or the outputs of one job in the order of its items. */
  async list(accountId: string, query: AssetListQuery, onLong: OnLongRead): Promise<ListPage<AssetDocument>> {
    const filters = filtersIn(query);
    const filter = { accountId, state: 'kept', ...filters };
    const sort = query.jobId === undefined ? NEWEST_FIRST : IN_ITEM_ORDER;
    const listing = { name: 'assets', accountId, filters, sort, onLong };
    return readListPage(this.#assets, filter, listing, query);
  }

  /**
   * The ids of at most `limit` DONE images, oldest first. Ids sort by age, because they begin with their creation time.
   */
  async selectDoneIds(
    accountId: string,
    { collection, createdFrom, createdTo }: AssetSelection,
    limit: number,
  ): Promise<string[]> {
    const created = withoutAbsentFields({
      $gte: createdFrom && smallestIdAt('ast', Date.parse(createdFrom)),
      $lt: createdTo && smallestIdAt('ast', Date.parse(createdTo) + 1),
    });
    const filter = {
      accountId,
      state: 'kept',
      status: 'DONE',
      ...withoutAbsentFields({ collection }),
      ...(Object.keys(created).length > 0 && { _id: created }),
    };
    const found = await this.#assets.find(filter, { sort: OLDEST_FIRST, limit, fields: ['_id'] });
    return found.map(({ _id }) => _id);
  }

  /**
   * The assets whose images have a hash similar to the given one, nearest first. The given asset itself is left out.
   */
  async findSimilar(
    { _id, accountId }: Pick<AssetDocument, '_id' | 'accountId'>,
    hash: string,
    distance: number,
    query: AssetListQuery,
    onLong: OnLongRead,
  ): Promise<{ rows: (AssetDocument & { distance: number })[]; meta: ListPageMeta }> {
    const candidates = new Set<string>();
    for (const filter of similarHashFilters(hash)) {
      const matches = { accountId, ...filter, state: 'kept' };
      for (const { _id: id } of await this.#assets.find(matches, { fields: ['_id'] })) candidates.add(id);
    }
    candidates.delete(_id);
    const distances = new Map<string, number>();
    for (const ids of inBatches([...candidates], HASHES_PER_READ)) {
      // The filters of the list are here, because a search with one of them might read the index of that field.
      const matches = { _id: { $in: ids }, accountId, ...filtersIn(query) };
      const found = await this.#assets.find(matches, { fields: HASH_FIELDS });
      for (const { _id: id, hashBytes } of found)
        if (hashBytes !== undefined) distances.set(id, hashDistance(hash, joinHashBytes(hashBytes)));
    }
    const [page, perPage] = [requestedPageNumber(query), requestedPageSize(query)];
    const all = [...distances]
      .filter(([, bits]) => bits <= distance)
      .sort(([id, bits], [otherId, otherBits]) => bits - otherBits || (id < otherId ? 1 : -1));
    const nearest = all.slice(page * perPage, (page + 1) * perPage);
    const ids = nearest.map(([id]) => id);
    const found = await collectParts(accountId, this.#readKept(accountId, ids), onLong);
    const byId = new Map(found.map((asset) => [asset._id, asset]));
    const rows = nearest.flatMap(([id, bits]) => {
      const asset = byId.get(id);
      return asset === undefined ? [] : [{ ...asset, distance: bits }];
    });
    return {
      rows,
      meta: {
        total: all.length,
        page,
        perPage,
        hasMore: all.length > (page + 1) * perPage,
        nextCursor: null,
      },
    };
  }

  async *#readKept(accountId: string, assetIds: readonly string[]): AsyncGenerator<AssetDocument[]> {
    for (const ids of inBatches(assetIds, ROWS_PER_READ))
      yield await this.#assets.find({ _id: { $in: ids }, accountId, state: 'kept' });
  }

  /** The number of outputs of a job. It does not decrease before the job has ended. */
  async countOutputs(accountId: string, jobId: string): Promise<number> {
    return this.#assets.count({ accountId, state: 'kept', jobId });
  }

  async countInCollection(accountId: string, collection: string): Promise<number> {
    return this.#assets.count({ accountId, state: 'kept', collection });
  }

  /** Removes all assets from a collection. The assets themselves remain. */
  async clearCollection(accountId: string, collection: string): Promise<void> {
    await this.#assets.updateMany({ accountId, collection }, { $set: { collection: null } });
  }

  async insert(asset: AssetDocument): Promise<void> {
    await this.#assets.insertOne(asset);
  }

  /**
   * Makes an uploaded asset visible. Returns null when the sweep has abandoned it.
   * @throws DuplicateKeyError when another asset of the account has the same bytes.
   */
  async publish(
    { _id, accountId }: AssetDocument,
    content: AssetContentFields & Pick<AssetDocument, 'identity'>,
  ): Promise<AssetDocument | null> {
    const update = { $set: { ...content, ...this.#stateChange('kept'), status: 'DONE' } };
    return this.#assets.findOneAndUpdate({ _id, accountId, state: 'arriving' }, update);
  }

  /** Abandons an upload, or an output of a job, that is not visible yet. Returns null when its state has changed. */
  async abandon(
    accountId: string,
    assetId: string,
    state: 'arriving' | 'made',
  ): Promise<AssetDocument | null> {
    const hiddenAsset = { _id: assetId, accountId, state };
    return this.#assets.findOneAndUpdate(hiddenAsset, { $set: this.#stateChange('abandoned') });
  }

  /**
   * Claims an upload URL, which can be used only once, for an object with this key. Returns null when the URL was used
   * before.
   */
  async claimUpload(
    accountId: string,
    assetId: string,
    claim: { objectKey: string; expiresAt: string },
  ): Promise<AssetDocument | null> {
    const unused = { _id: assetId, accountId, state: 'kept', status: 'PENDING', objectKey: null };
    return this.#assets.findOneAndUpdate(unused, { $set: claim });
  }

  /** Records the result of an upload to a reserved asset. Returns null when the asset has changed since it was read. */
  async endUpload(
    { _id, accountId, status, objectKey }: AssetDocument,
    end: Partial<AssetContentFields> & Partial<Pick<AssetDocument, 'status' | 'objectKey' | 'expiresAt'>>,
  ): Promise<AssetDocument | null> {
    const asRead = { _id, accountId, state: 'kept', status, objectKey };
    return this.#assets.findOneAndUpdate(asRead, { $set: end });
  }

  /**
   * Hides an asset for good. Its document stays until its object is deleted. If several callers hide it at the same
   * time, only one of them gets the asset.
   */
  async hide(accountId: string, assetId: string): Promise<AssetDocument | null> {
    const update = { $set: this.#stateChange('leaving'), $unset: { identity: '' } };
    return this.#assets.findOneAndUpdate({ _id: assetId, accountId, state: 'kept' }, update);
  }

  /** Deletes the document of a hidden asset. */
  async erase({ _id, accountId }: AssetDocument): Promise<void> {
    await this.#assets.deleteOne({ _id, accountId, state: { $ne: 'kept' } });
  }

  /** Makes outputs of jobs visible. Returns the number of outputs that were not visible before. */
  async showOutputs(accountId: string, assetIds: readonly string[]): Promise<number> {
    const made = { _id: { $in: assetIds }, accountId, state: 'made' };
    return (await this.#assets.updateMany(made, { $set: this.#stateChange('kept') })).modified;
  }

  /** For the sweep: outputs of all accounts that were made before an instant and are neither visible nor discarded. */
  async findHiddenOutputs(before: Date, limit: number): Promise<AssetDocument[]> {
    return this.#assets.find({ state: 'made', stateAt: { $lt: before.toISOString() } }, { limit });
  }

  async findOutputs(accountId: string, jobId: string, limit: number): Promise<AssetDocument[]> {
    return this.#assets.find({ accountId, state: 'kept', jobId }, { limit });
  }

  /** Finds which of these ids are assets of the account, and their status. */
  async findStatuses(accountId: string, assetIds: readonly string[]): Promise<Map<string, AssetStatus>> {
    const found = await this.#findKept(accountId, assetIds, ['status']);
    return new Map(found.map(({ _id, status }) => [_id, status]));
  }

  /** Finds the assets with these ids that belong to the account and have stored bytes. */
  async findStoredContents(
    accountId: string,
    assetIds: readonly string[],
  ): Promise<Map<string, StoredAssetContent>> {
    const fields = ['name', 'image', 'digest', 'crc32', 'objectKey'] as const;
    const contents = new Map<string, StoredAssetContent>();
    for (const asset of await this.#findKept(accountId, assetIds, fields)) {
      const { _id: id, name, image, digest, crc32, objectKey } = asset;
      if (image === null || digest === null || crc32 === undefined || objectKey === null) continue;
      const { format, bytes: sizeBytes } = image;
      contents.set(id, { id, accountId, name, format, sizeBytes, digest, crc32, objectKey });
    }
    return contents;
  }

  /** Reads visible assets by their ids, in batches, because there may be thousands. */
  async #findKept(
    accountId: string,
    assetIds: readonly string[],
    fields: readonly (keyof AssetDocument)[],
  ): Promise<AssetDocument[]> {
    const found: AssetDocument[] = [];
    for (const batch of inBatches([...new Set(assetIds)], IDS_PER_READ)) {
      const filter = { _id: { $in: batch }, accountId, state: 'kept' };
      found.push(...(await this.#assets.find(filter, { fields })));
    }
    return found;
  }

  /** For the sweep: the asset, visible or not. */
  async findAny(accountId: string, assetId: string): Promise<AssetDocument | null> {
    return this.#assets.findOne({ _id: assetId, accountId });
  }

  /** For the sweep: expired assets of all accounts. */
  async findExpired(now: Date, limit: number): Promise<AssetDocument[]> {
    return this.#assets.find({ expiresAt: { $lte: now.toISOString() }, state: 'kept' }, { limit });
  }

  /** For the sweep: abandons uploads that began before an instant, and returns the assets to remove. */
  async abandonUnfinished(before: Date, limit: number): Promise<AssetDocument[]> {
    const old = { stateAt: { $lt: before.toISOString() } };
    await this.#assets.updateMany({ state: 'arriving', ...old }, { $set: { state: 'abandoned' } });
    return this.#assets.find({ state: { $in: ['leaving', 'abandoned'] }, ...old }, { limit });
  }

  /** The fields that put an asset into a state now. */
  #stateChange(state: AssetDocument['state']) {
    return { state, stateAt: this.#now().toISOString() };
  }
}

/** The fields of a listing's query that filter by a stored field. */
function filtersIn({ collection, status, origin, jobId }: AssetListQuery) {
  return withoutAbsentFields({ collection, status, origin, jobId });
}

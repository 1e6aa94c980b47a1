import { hashDistance } from '../../../workers/image/facts/perceptual-hash.ts';
import type { ListPageMeta } from '../../platform/http/envelope.ts';
import {
  type ListPage,
  type PagingQuery,
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
import { withoutAbsentFields } from '../../platform/values/present.ts';
import type { AssetContentFields, AssetDocument, AssetStatus } from './asset.ts';
import { HASH_INDEXES, similarHashFilters } from './likeness.ts';
import type { AssetListQuery } from './schema.ts';

const INDEXES: readonly IndexSpec[] = [
  // With this unique index, equal bytes become one asset even when several uploads race.
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
  indexes: INDEXES,
  onAccountDeletion: 'expire',
};

const NEWEST_FIRST = sortBy('-_id');
const IN_ITEM_ORDER = sortBy('itemIndex', '_id');
const OLDEST_FIRST = sortBy('_id');
const IDS_A_READ = 1_000;

/** A selection of images by their facts. The instants are included. */
export interface AssetSelection {
  collection?: string;
  createdFrom?: string;
  createdTo?: string;
}

/** The assets of the accounts. Methods that take an account return only its own assets. */
export class AssetsStore {
  readonly #assets: DocumentCollection<AssetDocument>;
  readonly #now: () => Date;

  private constructor(assets: DocumentCollection<AssetDocument>, now: () => Date) {
    this.#assets = assets;
    this.#now = now;
  }

  static async open(documents: DocumentStore, now: () => Date): Promise<AssetsStore> {
    return new AssetsStore(await documents.collection<AssetDocument>(ASSETS_COLLECTION), now);
  }

  async find(accountId: string, assetId: string): Promise<AssetDocument | null> {
    return this.#assets.findOne({ _id: assetId, accountId, state: 'kept' });
  }

  /** The existing uploaded asset with these bytes. */
  async findSame(accountId: string, identity: string): Promise<AssetDocument | null> {
    return this.#assets.findOne({ accountId, identity, state: 'kept' });
  }

  /** Returns the given ids that are DONE assets of the account. */
  async findDone(accountId: string, assetIds: readonly string[]): Promise<string[]> {
    const found = await this.#findKept(accountId, assetIds, ['status']);
    return found.filter(({ status }) => status === 'DONE').map(({ _id }) => _id);
  }

  /** One page of assets: newest first, or the outputs of one job in the order of its items. */
  async list(accountId: string, query: AssetListQuery): Promise<ListPage<AssetDocument>> {
    const { collection, status, origin, jobId } = query;
    const filters = withoutAbsentFields({ collection, status, origin, jobId });
    const filter = { accountId, state: 'kept', ...filters };
    const sort = jobId === undefined ? NEWEST_FIRST : IN_ITEM_ORDER;
    return readListPage(this.#assets, filter, { name: 'assets', accountId, filters, sort }, query);
  }

  /** The ids of at most `limit` DONE images, oldest first. Ids begin with the time of their creation. */
  async select(
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

  /** The assets whose images are similar to this hash, nearest first, without the asset itself. */
  async similar(
    { _id, accountId }: Pick<AssetDocument, '_id' | 'accountId'>,
    hash: string,
    distance: number,
    query: PagingQuery,
  ): Promise<{ rows: (AssetDocument & { distance: number })[]; meta: ListPageMeta }> {
    const distances = new Map<string, number>();
    for (const filter of similarHashFilters(hash)) {
      const candidates = await this.#assets.find(
        { accountId, ...filter, state: 'kept' },
        { fields: ['image.perceptualHash'] },
      );
      for (const { _id: id, image } of candidates)
        if (id !== _id) distances.set(id, hashDistance(hash, image?.perceptualHash ?? ''));
    }
    const [page, perPage] = [requestedPageNumber(query), requestedPageSize(query)];
    const all = [...distances]
      .filter(([, bits]) => bits <= distance)
      .sort(([id, bits], [otherId, otherBits]) => bits - otherBits || (id < otherId ? 1 : -1));
    const nearest = all.slice(page * perPage, (page + 1) * perPage);
    const found = await this.#assets.find({
      _id: { $in: nearest.map(([id]) => id) },
      accountId,
      state: 'kept',
    });
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

  /** The number of outputs of a job. */
  async countOfJob(accountId: string, jobId: string): Promise<number> {
    return this.#assets.count({ accountId, state: 'kept', jobId });
  }

  async countIn(accountId: string, collection: string): Promise<number> {
    return this.#assets.count({ accountId, state: 'kept', collection });
  }

  /** Removes the assets of a collection from it. */
  async dissolve(accountId: string, collection: string): Promise<void> {
    await this.#assets.updateMany({ accountId, collection }, { $set: { collection: null } });
  }

  async insert(asset: AssetDocument): Promise<void> {
    await this.#assets.insertOne(asset);
  }

  /**
   * Makes an uploaded asset visible. Null when the sweep has abandoned it.
   * @throws DuplicateKeyError when another asset of the account has the same bytes.
   */
  async keep(
    { _id, accountId }: AssetDocument,
    content: AssetContentFields & Pick<AssetDocument, 'identity'>,
  ): Promise<AssetDocument | null> {
    return this.#assets.findOneAndUpdate(
      { _id, accountId, state: 'arriving' },
      { $set: { ...content, ...this.#entering('kept'), status: 'DONE' } },
    );
  }

  /** Abandons an upload, or the output of a job, that is not visible yet. Null when it is no longer in that state. */
  async abandon(
    accountId: string,
    assetId: string,
    state: 'arriving' | 'made',
  ): Promise<AssetDocument | null> {
    const unseen = { _id: assetId, accountId, state };
    return this.#assets.findOneAndUpdate(unseen, { $set: this.#entering('abandoned') });
  }

  /** Claims the single use of an upload URL, for an object of this key. Null when it is used up. */
  async claimPut(
    accountId: string,
    assetId: string,
    claim: { objectKey: string; expiresAt: string },
  ): Promise<AssetDocument | null> {
    const unused = { _id: assetId, accountId, state: 'kept', status: 'PENDING', objectKey: null };
    return this.#assets.findOneAndUpdate(unused, { $set: claim });
  }

  /** Records the result of a PUT; null when the asset has changed meanwhile. */
  async endPut(
    { _id, accountId, status, objectKey }: AssetDocument,
    end: Partial<AssetContentFields> & Partial<Pick<AssetDocument, 'status' | 'objectKey' | 'expiresAt'>>,
  ): Promise<AssetDocument | null> {
    const asItWas = { _id, accountId, state: 'kept', status, objectKey };
    return this.#assets.findOneAndUpdate(asItWas, { $set: end });
  }

  /**
   * Hides an asset for good. Its document stays until its object is deleted. Of several racing callers, only one gets
   * the asset.
   */
  async hide(accountId: string, assetId: string): Promise<AssetDocument | null> {
    return this.#assets.findOneAndUpdate(
      { _id: assetId, accountId, state: 'kept' },
      { $set: this.#entering('leaving'), $unset: { identity: '' } },
    );
  }

  /** Deletes the document of a hidden asset. */
  async erase({ _id, accountId }: AssetDocument): Promise<void> {
    await this.#assets.deleteOne({ _id, accountId, state: { $ne: 'kept' } });
  }

  /** Makes outputs of jobs visible; returns how many were not visible before. */
  async showMade(accountId: string, assetIds: readonly string[]): Promise<number> {
    const made = { _id: { $in: assetIds }, accountId, state: 'made' };
    return (await this.#assets.updateMany(made, { $set: this.#entering('kept') })).modified;
  }

  /** For the sweep: outputs of all accounts that were made before an instant and are not visible yet. */
  async madeBefore(before: Date, limit: number): Promise<AssetDocument[]> {
    return this.#assets.find({ state: 'made', stateAt: { $lt: before.toISOString() } }, { limit });
  }

  /** At most `limit` outputs of a job. */
  async ofJob(accountId: string, jobId: string, limit: number): Promise<AssetDocument[]> {
    return this.#assets.find({ accountId, state: 'kept', jobId }, { limit });
  }

  /** Returns the given ids that are assets of the account, with their status. */
  async statuses(accountId: string, assetIds: readonly string[]): Promise<Map<string, AssetStatus>> {
    const found = await this.#findKept(accountId, assetIds, ['status']);
    return new Map(found.map(({ _id, status }) => [_id, status]));
  }

  /**
   * Returns those of the given ids that are assets of the account, with the fields for a download, in no particular
   * order.
   */
  findMany(accountId: string, assetIds: readonly string[]): Promise<AssetDocument[]> {
    return this.#findKept(accountId, assetIds, ['name', 'image', 'digest', 'crc32', 'objectKey']);
  }

  /** Reads thousands of ids in batches. */
  async #findKept(
    accountId: string,
    assetIds: readonly string[],
    fields: readonly (keyof AssetDocument)[],
  ): Promise<AssetDocument[]> {
    const found: AssetDocument[] = [];
    const distinct = [...new Set(assetIds)];
    for (let start = 0; start < distinct.length; start += IDS_A_READ) {
      const part = distinct.slice(start, start + IDS_A_READ);
      const filter = { _id: { $in: part }, accountId, state: 'kept' };
      found.push(...(await this.#assets.find(filter, { fields })));
    }
    return found;
  }

  /** For the sweep: the asset, visible or not. */
  async findAny(accountId: string, assetId: string): Promise<AssetDocument | null> {
    return this.#assets.findOne({ _id: assetId, accountId });
  }

  /** For the sweep: expired assets of all accounts. */
  async expired(now: Date, limit: number): Promise<AssetDocument[]> {
    return this.#assets.find({ expiresAt: { $lte: now.toISOString() }, state: 'kept' }, { limit });
  }

  /** For the sweep: abandons uploads that began before an instant, and returns all assets to be removed. */
  async unfinished(before: Date, limit: number): Promise<AssetDocument[]> {
    const old = { stateAt: { $lt: before.toISOString() } };
    await this.#assets.updateMany({ state: 'arriving', ...old }, { $set: { state: 'abandoned' } });
    return this.#assets.find({ state: { $in: ['leaving', 'abandoned'] }, ...old }, { limit });
  }

  /** The update that moves an asset to a state now. */
  #entering(state: AssetDocument['state']) {
    return { state, stateAt: this.#now().toISOString() };
  }
}

import type { Page } from '../../platform/http/lists/paging.ts';
import { readPage } from '../../platform/http/lists/paging.ts';
import {
  type Collection,
  type DeclaredCollection,
  type Documents,
  type IndexSpec,
  order,
} from '../../platform/stores/documents/port.ts';
import type { AssetDocument, AssetStatus, Content } from './asset.ts';
import type { AssetListQuery } from './schema.ts';

const INDEXES: readonly IndexSpec[] = [
  // The law that equal bytes are one asset, however many uploads race.
  { name: 'identity', fields: order('accountId', 'identity'), unique: true, whenPresent: ['identity'] },
  { name: 'newest', fields: order('accountId', 'state', '-_id') },
  { name: 'collection', fields: order('accountId', 'state', 'collection', '-_id') },
  { name: 'jobItems', fields: order('accountId', 'state', 'jobId', 'itemIndex', '_id') },
  { name: 'state', fields: order('state', 'stateAt') },
  { name: 'expiresAt', fields: order('expiresAt') },
];

export const ASSETS: DeclaredCollection = { name: 'assets', indexes: INDEXES, onAccountDeletion: 'expire' };

const NEWEST_FIRST = order('-_id');
const IN_ITEM_ORDER = order('itemIndex', '_id');
const IDS_A_READ = 1_000;

/** The assets of the accounts. Every call for one takes the account first and sees nothing of another's. */
export class AssetsStore {
  readonly #assets: Collection<AssetDocument>;
  readonly #now: () => Date;

  private constructor(assets: Collection<AssetDocument>, now: () => Date) {
    this.#assets = assets;
    this.#now = now;
  }

  static async open(documents: Documents, now: () => Date): Promise<AssetsStore> {
    return new AssetsStore(await documents.collection<AssetDocument>(ASSETS), now);
  }

  async find(accountId: string, assetId: string): Promise<AssetDocument | null> {
    return this.#assets.findOne({ _id: assetId, accountId, state: 'kept' });
  }

  /** The upload that these bytes are already. */
  async findSame(accountId: string, identity: string): Promise<AssetDocument | null> {
    return this.#assets.findOne({ accountId, identity, state: 'kept' });
  }

  /** The ids that are DONE assets of the account. */
  async findDone(accountId: string, assetIds: readonly string[]): Promise<string[]> {
    const filter = { _id: { $in: assetIds }, accountId, state: 'kept', status: 'DONE' };
    return (await this.#assets.find(filter, { fields: ['_id'] })).map(({ _id }) => _id);
  }

  /** One page: newest first, or, of one job, in the order of its items. */
  async list(accountId: string, query: AssetListQuery): Promise<Page<AssetDocument>> {
    const { collection, status, origin, jobId } = query;
    const filters = { collection, status, origin, jobId };
    const sent = Object.entries(filters).filter(([, value]) => value !== undefined);
    const filter = { accountId, state: 'kept', ...Object.fromEntries(sent) };
    const sort = jobId === undefined ? NEWEST_FIRST : IN_ITEM_ORDER;
    return readPage(this.#assets, filter, { name: 'assets', filters, sort }, query);
  }

  async countIn(accountId: string, collection: string): Promise<number> {
    return this.#assets.count({ accountId, state: 'kept', collection });
  }

  /** Takes the assets of a collection out of it. */
  async dissolve(accountId: string, collection: string): Promise<void> {
    await this.#assets.updateMany({ accountId, collection }, { $set: { collection: null } });
  }

  async insert(asset: AssetDocument): Promise<void> {
    await this.#assets.insertOne(asset);
  }

  /**
   * Shows an asset that has arrived. Null when the sweep gave it up.
   * @throws DuplicateKeyError when another asset of the account has this identity.
   */
  async keep(
    { _id, accountId }: AssetDocument,
    arrived: Content & Pick<AssetDocument, 'identity'>,
  ): Promise<AssetDocument | null> {
    const stateAt = this.#now().toISOString();
    return this.#assets.findOneAndUpdate(
      { _id, accountId, state: 'arriving' },
      { $set: { ...arrived, state: 'kept', stateAt, status: 'DONE' } },
    );
  }

  /** Gives up an asset that has not arrived. Null when it has, or somebody else gave it up. */
  async giveUp({ _id, accountId }: AssetDocument): Promise<AssetDocument | null> {
    const stateAt = this.#now().toISOString();
    const arriving = { _id, accountId, state: 'arriving' };
    return this.#assets.findOneAndUpdate(arriving, { $set: { state: 'abandoned', stateAt } });
  }

  /** Takes the single use of an upload url, for bytes under a key. Null when there is none to take. */
  async claimPut(
    accountId: string,
    assetId: string,
    claim: { objectKey: string; expiresAt: string },
  ): Promise<AssetDocument | null> {
    const unused = { _id: assetId, accountId, state: 'kept', status: 'PENDING', objectKey: null };
    return this.#assets.findOneAndUpdate(unused, { $set: claim });
  }

  /** Says what became of a put; null when the asset is no longer as it was. */
  async endPut(
    { _id, accountId, status, objectKey }: AssetDocument,
    end: Partial<Content> & Partial<Pick<AssetDocument, 'status' | 'objectKey' | 'expiresAt'>>,
  ): Promise<AssetDocument | null> {
    const asItWas = { _id, accountId, state: 'kept', status, objectKey };
    return this.#assets.findOneAndUpdate(asItWas, { $set: end });
  }

  /** Hides an asset for good; the document stays until its object is gone. Of racing callers one gets it. */
  async hide(accountId: string, assetId: string): Promise<AssetDocument | null> {
    const stateAt = this.#now().toISOString();
    return this.#assets.findOneAndUpdate(
      { _id: assetId, accountId, state: 'kept' },
      { $set: { state: 'leaving', stateAt }, $unset: { identity: '' } },
    );
  }

  /** Deletes the document of an asset that is not seen. */
  async erase({ _id, accountId }: AssetDocument): Promise<void> {
    await this.#assets.deleteOne({ _id, accountId, state: { $ne: 'kept' } });
  }

  /** Shows outputs of jobs that were made; answers how many had not been shown before. */
  async showMade(accountId: string, assetIds: readonly string[]): Promise<number> {
    const stateAt = this.#now().toISOString();
    const made = { _id: { $in: assetIds }, accountId, state: 'made' };
    return (await this.#assets.updateMany(made, { $set: { state: 'kept', stateAt } })).modified;
  }

  /** Gives up an output that was made and not shown. Null when there is none. */
  async discardMade(accountId: string, assetId: string): Promise<AssetDocument | null> {
    const stateAt = this.#now().toISOString();
    const made = { _id: assetId, accountId, state: 'made' };
    return this.#assets.findOneAndUpdate(made, { $set: { state: 'abandoned', stateAt } });
  }

  /** For the sweep: outputs of any account that were made before an instant and not shown since. */
  async madeBefore(before: Date, limit: number): Promise<AssetDocument[]> {
    return this.#assets.find({ state: 'made', stateAt: { $lt: before.toISOString() } }, { limit });
  }

  /** Some of the outputs of a job. */
  async ofJob(accountId: string, jobId: string, limit: number): Promise<AssetDocument[]> {
    return this.#assets.find({ accountId, state: 'kept', jobId }, { limit });
  }

  /** Which of these assets are the account's, by id; with their status. */
  async statuses(accountId: string, assetIds: readonly string[]): Promise<Map<string, AssetStatus>> {
    const found = await this.#findKept(accountId, assetIds, ['status']);
    return new Map(found.map(({ _id, status }) => [_id, status]));
  }

  /** The ids that are assets of the account, with the facts for a download, in no order. */
  findMany(accountId: string, assetIds: readonly string[]): Promise<AssetDocument[]> {
    return this.#findKept(accountId, assetIds, ['name', 'image', 'digest', 'objectKey']);
  }

  /** Thousands are read in parts. */
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

  /** For the sweep: the asset, seen or not. */
  async findAny(accountId: string, assetId: string): Promise<AssetDocument | null> {
    return this.#assets.findOne({ _id: assetId, accountId });
  }

  /** For the sweep: assets of any account whose time is over. */
  async expired(now: Date, limit: number): Promise<AssetDocument[]> {
    return this.#assets.find({ expiresAt: { $lte: now.toISOString() }, state: 'kept' }, { limit });
  }

  /** For the sweep: gives up what has been arriving since before an instant, and answers all that is to be removed. */
  async unfinished(before: Date, limit: number): Promise<AssetDocument[]> {
    const old = { stateAt: { $lt: before.toISOString() } };
    await this.#assets.updateMany({ state: 'arriving', ...old }, { $set: { state: 'abandoned' } });
    return this.#assets.find({ state: { $in: ['leaving', 'abandoned'] }, ...old }, { limit });
  }
}

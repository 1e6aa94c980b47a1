import type { Page } from '../http/paging.ts';
import { readPage } from '../http/paging.ts';
import type { Collection, Documents, IndexSpec } from '../stores/documents/port.ts';
import type { AssetDocument, Content } from './asset.ts';
import type { AssetListQuery } from './schema.ts';

const INDEXES: readonly IndexSpec[] = [
  // The law that equal bytes are one asset, however many uploads race.
  {
    name: 'identity',
    fields: [
      ['accountId', 1],
      ['identity', 1],
    ],
    unique: true,
    whenPresent: ['identity'],
  },
  {
    name: 'newest',
    fields: [
      ['accountId', 1],
      ['state', 1],
      ['_id', -1],
    ],
  },
  {
    name: 'collection',
    fields: [
      ['accountId', 1],
      ['state', 1],
      ['collection', 1],
      ['_id', -1],
    ],
  },
  {
    name: 'job',
    fields: [
      ['accountId', 1],
      ['state', 1],
      ['jobId', 1],
      ['_id', -1],
    ],
  },
  {
    name: 'state',
    fields: [
      ['state', 1],
      ['stateAt', 1],
    ],
  },
  { name: 'expiresAt', fields: [['expiresAt', 1]] },
];

/** The assets of the accounts. Every call for one takes the account first and sees nothing of another's. */
export class AssetsStore {
  readonly #assets: Collection<AssetDocument>;
  readonly #now: () => Date;

  private constructor(assets: Collection<AssetDocument>, now: () => Date) {
    this.#assets = assets;
    this.#now = now;
  }

  static async open(documents: Documents, now: () => Date): Promise<AssetsStore> {
    return new AssetsStore(
      await documents.collection<AssetDocument>({ name: 'assets', indexes: INDEXES }),
      now,
    );
  }

  async find(accountId: string, assetId: string): Promise<AssetDocument | null> {
    return this.#assets.findOne({ _id: assetId, accountId, state: 'kept' });
  }

  /** The upload that these bytes are already. */
  async findSame(accountId: string, identity: string): Promise<AssetDocument | null> {
    return this.#assets.findOne({ accountId, identity, state: 'kept' });
  }

  /** Those of the ids that are DONE assets of the account. */
  async findDone(accountId: string, assetIds: readonly string[]): Promise<string[]> {
    const filter = { _id: { $in: assetIds }, accountId, state: 'kept', status: 'DONE' };
    return (await this.#assets.find(filter, { fields: ['_id'] })).map(({ _id }) => _id);
  }

  /** One page, newest first. */
  async list(accountId: string, query: AssetListQuery): Promise<Page<AssetDocument>> {
    const { collection, status, origin, jobId } = query;
    const filters = { collection, status, origin, jobId };
    const sent = Object.entries(filters).filter(([, value]) => value !== undefined);
    const filter = { accountId, state: 'kept', ...Object.fromEntries(sent) };
    return readPage(this.#assets, filter, { name: 'assets', filters, sort: [['_id', -1]] }, query);
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
    arrived: Content & Pick<AssetDocument, 'name' | 'identity'>,
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

import { randomText } from '../../../platform/names/ids.ts';
import {
  type Collection,
  type DeclaredCollection,
  type Documents,
  DuplicateKeyError,
  order,
} from '../../../platform/stores/documents/port.ts';
import type { AssetCollection } from '../schema.ts';
import type { AssetsStore } from '../store.ts';

interface CollectionDocument {
  _id: string;
  accountId: string;
  name: string;
  updatedAt: string;
}

/** The names that an account gave to its collections. */
export const ASSET_COLLECTIONS: DeclaredCollection = {
  name: 'assetCollections',
  indexes: [{ name: 'name', fields: order('accountId', 'name'), unique: true }],
  onAccountDeletion: 'delete',
};

const ROWS_A_READ = 100;

/** The collections of the accounts: names that assets may carry. */
export class AssetCollections {
  readonly #collections: Collection<CollectionDocument>;
  readonly #assets: AssetsStore;
  readonly #now: () => Date;

  private constructor(collections: Collection<CollectionDocument>, assets: AssetsStore, now: () => Date) {
    this.#collections = collections;
    this.#assets = assets;
    this.#now = now;
  }

  static async open(documents: Documents, assets: AssetsStore, now: () => Date): Promise<AssetCollections> {
    const collections = await documents.collection<CollectionDocument>(ASSET_COLLECTIONS);
    return new AssetCollections(collections, assets, now);
  }

  /** All of them by name, each with its number of assets as it is read. */
  async *list(accountId: string): AsyncGenerator<AssetCollection> {
    let after = '';
    for (;;) {
      const rows = await this.#collections.find(
        { accountId, name: { $gt: after } },
        { sort: order('name'), limit: ROWS_A_READ },
      );
      for (const row of rows) yield this.#shown(row);
      const last = rows.at(-1);
      if (last === undefined || rows.length < ROWS_A_READ) return;
      after = last.name;
    }
  }

  /** Makes a collection, or answers the one that has the name. */
  async create(accountId: string, name: string): Promise<{ collection: AssetCollection; isNew: boolean }> {
    const row = { _id: randomText(24), accountId, name, updatedAt: this.#now().toISOString() };
    try {
      await this.#collections.insertOne(row);
      return { collection: await this.#shown(row), isNew: true };
    } catch (error) {
      if (!(error instanceof DuplicateKeyError)) throw error;
      const there = await this.#collections.findOne({ accountId, name });
      return { collection: await this.#shown(there ?? row), isNew: false };
    }
  }

  /** Notes that a collection got an asset, and makes it when there is none of the name. */
  async touch(accountId: string, name: string): Promise<void> {
    await this.#collections.updateOne(
      { accountId, name },
      { $max: { updatedAt: this.#now().toISOString() }, $setOnInsert: { _id: randomText(24) } },
      { upsert: true },
    );
  }

  /**
   * Removes a collection; its assets stay without one. False when there is none. The assets go out first, so that a
   * crash leaves a collection to be deleted again, and once more at the end, for those that came in meanwhile.
   */
  async remove(accountId: string, name: string): Promise<boolean> {
    await this.#assets.dissolve(accountId, name);
    const deleted = await this.#collections.deleteOne({ accountId, name });
    await this.#assets.dissolve(accountId, name);
    return deleted === 1;
  }

  async #shown({ accountId, name, updatedAt }: CollectionDocument): Promise<AssetCollection> {
    return { name, assets: await this.#assets.countIn(accountId, name), updatedAt };
  }
}

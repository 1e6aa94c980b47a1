import type {
  DeclaredCollection,
  DocumentCollection,
  DocumentStore,
} from '../../platform/stores/documents/port.ts';

/** The number of an account's assets, and marks of assets that are being added or removed. */
interface QuotaDocument {
  /** The account. */
  _id: string;
  stored: number;
  moving: Array<{ assetId: string; at: string }>;
}

/**
 * When an account is deleted, the document may stay. It holds only a number, which becomes 0 as the sweep removes the
 * assets.
 */
export const ASSET_QUOTA_COLLECTION: DeclaredCollection = {
  name: 'assetPlaces',
  indexes: [],
  onAccountDeletion: 'keep',
};

/**
 * The quota of assets in an account's plan. It is a stored counter, not a count of documents, so that one conditional
 * update admits exactly as many assets as the plan has. It stays correct through a crash, because each step is marked:
 *
 *   in:  reserve (counts, marks) · the asset's document is shown · confirm (unmarks)
 *   out: the asset's document is hidden · announce (marks) · the document is deleted · giveBack (uncounts, unmarks)
 *
 * The sweep resolves each mark that is left over: `confirm` if the asset exists, and `giveBack` if it does not.
 */
export class AssetQuota {
  readonly #quota: DocumentCollection<QuotaDocument>;
  readonly #now: () => Date;

  private constructor(quota: DocumentCollection<QuotaDocument>, now: () => Date) {
    this.#quota = quota;
    this.#now = now;
  }

  static async open(documents: DocumentStore, now: () => Date): Promise<AssetQuota> {
    return new AssetQuota(await documents.collection<QuotaDocument>(ASSET_QUOTA_COLLECTION), now);
  }

  async stored(accountId: string): Promise<number> {
    return (await this.#quota.findOne({ _id: accountId }, { fields: ['stored'] }))?.stored ?? 0;
  }

  /**
   * Takes one unit of the quota. `full` is final. `moving` is not: no unit is free, but some assets are being added or
   * removed.
   */
  async reserve(accountId: string, assetId: string, limit: number): Promise<'reserved' | 'full' | 'moving'> {
    const { modified } = await this.#quota.updateOne(
      { _id: accountId, stored: { $lt: limit } },
      { $inc: { stored: 1 }, $push: { moving: this.#mark(assetId) } },
    );
    if (modified === 1) return 'reserved';
    const quota = await this.#quota.findOneAndUpdate(
      { _id: accountId },
      { $setOnInsert: { stored: 0, moving: [] } },
      { upsert: true },
    );
    return isFull(quota, limit) ? 'full' : 'moving';
  }

  /** Whether the quota is used up for certain, with no asset being added or removed. */
  async isFull(accountId: string, limit: number): Promise<boolean> {
    return isFull(await this.#quota.findOne({ _id: accountId }), limit);
  }

  /** Removes the mark of an asset that is now visible. */
  async confirm(accountId: string, assetId: string): Promise<void> {
    await this.#quota.updateOne({ _id: accountId }, { $pull: { moving: { assetId } } });
  }

  /** Marks a counted asset that is about to be removed. */
  async announce(accountId: string, assetId: string): Promise<void> {
    await this.#quota.updateOne(
      { _id: accountId, moving: { $not: { $elemMatch: { assetId } } } },
      { $push: { moving: this.#mark(assetId) } },
    );
  }

  /** Gives back the unit of a marked asset. It does nothing for an asset without a mark. */
  async giveBack(accountId: string, assetId: string): Promise<void> {
    await this.#quota.updateOne(
      { _id: accountId, moving: { $elemMatch: { assetId } } },
      { $inc: { stored: -1 }, $pull: { moving: { assetId } } },
    );
  }

  /** For the sweep: the marks of all accounts that were made before an instant. */
  async leftOver(before: Date): Promise<Array<{ accountId: string; assetId: string }>> {
    const instant = before.toISOString();
    const quota = await this.#quota.find({ moving: { $elemMatch: { at: { $lt: instant } } } });
    return quota.flatMap(({ _id: accountId, moving }) =>
      moving.filter(({ at }) => at < instant).map(({ assetId }) => ({ accountId, assetId })),
    );
  }

  #mark(assetId: string): QuotaDocument['moving'][number] {
    return { assetId, at: this.#now().toISOString() };
  }
}

function isFull(quota: QuotaDocument | null, limit: number): boolean {
  return quota !== null && quota.stored >= limit && quota.moving.length === 0;
}

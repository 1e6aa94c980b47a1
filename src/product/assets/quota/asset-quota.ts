import type { Collection, DeclaredCollection, Documents } from '../../../platform/stores/documents/port.ts';

/** How many assets an account has, and which of them are on their way in or out. */
interface QuotaDocument {
  /** The account. */
  _id: string;
  stored: number;
  moving: Array<{ assetId: string; at: string }>;
}

/** One document per account: nothing of it says more than a number, and the sweep of its assets brings it to 0. */
export const ASSET_QUOTA: DeclaredCollection = {
  name: 'assetPlaces',
  indexes: [],
  onAccountDeletion: 'keep',
};

type Entry = 'entered' | 'full' | 'moving';

/**
 * The places that an account's plan has for assets. The number is a counter and not a count, so that one conditional
 * update lets in exactly as many as there are. It stays true through a crash because every step of an asset is marked:
 *
 *   in:  enter (counts, marks) · the asset's document is shown · settle (unmarks)
 *   out: the asset's document is hidden · leaving (marks) · the document is deleted · leave (uncounts, unmarks)
 *
 * A mark that is left over belongs to an asset that exists, and is settled, or to one that does not, and leaves.
 */
export class AssetQuota {
  readonly #quota: Collection<QuotaDocument>;
  readonly #now: () => Date;

  private constructor(quota: Collection<QuotaDocument>, now: () => Date) {
    this.#quota = quota;
    this.#now = now;
  }

  static async open(documents: Documents, now: () => Date): Promise<AssetQuota> {
    return new AssetQuota(await documents.collection<QuotaDocument>(ASSET_QUOTA), now);
  }

  async stored(accountId: string): Promise<number> {
    return (await this.#quota.findOne({ _id: accountId }, { fields: ['stored'] }))?.stored ?? 0;
  }

  /**
   * Takes a place. `full` is final, `moving` is not: there is no place now, but some assets are between in and out.
   */
  async enter(accountId: string, assetId: string, limit: number): Promise<Entry> {
    if (await this.#count(accountId, assetId, limit)) return 'entered';
    const quota = await this.#quota.findOneAndUpdate(
      { _id: accountId },
      { $setOnInsert: { stored: 0, moving: [] } },
      { upsert: true },
    );
    return isFull(quota, limit) ? 'full' : 'moving';
  }

  /** Whether the quota is used up for certain: no asset is between in and out. */
  async isFull(accountId: string, limit: number): Promise<boolean> {
    return isFull(await this.#quota.findOne({ _id: accountId }), limit);
  }

  async #count(accountId: string, assetId: string, limit: number): Promise<boolean> {
    const { modified } = await this.#quota.updateOne(
      { _id: accountId, stored: { $lt: limit } },
      { $inc: { stored: 1 }, $push: { moving: this.#mark(assetId) } },
    );
    return modified === 1;
  }

  /** The asset is in for good. */
  async settle(accountId: string, assetId: string): Promise<void> {
    await this.#quota.updateOne({ _id: accountId }, { $pull: { moving: { assetId } } });
  }

  /** Marks an asset that is counted and about to go. */
  async leaving(accountId: string, assetId: string): Promise<void> {
    await this.#quota.updateOne(
      { _id: accountId, 'moving.assetId': { $ne: assetId } },
      { $push: { moving: this.#mark(assetId) } },
    );
  }

  /** Gives back the place of a marked asset. One that is not marked has none. */
  async leave(accountId: string, assetId: string): Promise<void> {
    await this.#quota.updateOne(
      { _id: accountId, 'moving.assetId': assetId },
      { $inc: { stored: -1 }, $pull: { moving: { assetId } } },
    );
  }

  /** For the sweep: marks of any account that were made before an instant. There is one document per account. */
  async leftOver(before: Date): Promise<Array<{ accountId: string; assetId: string }>> {
    const instant = before.toISOString();
    const quota = await this.#quota.find({ 'moving.at': { $lt: instant } });
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

import { randomText } from '../../platform/ids/ids.ts';
import type {
  DeclaredCollection,
  DocumentCollection,
  DocumentStore,
} from '../../platform/stores/documents/port.ts';

/** The counter of an account's assets, with an entry for each change that is not complete yet. */
interface QuotaDocument {
  /** The id of the account. */
  _id: string;
  stored: number;
  /** The assets that are being added or removed. */
  moving: Array<{ assetId: string; at: string }>;
  /** The changes by jobs that are not complete yet; absent before the first one. */
  marks?: JobOutputQuotaMark[];
}

/** A change of the counter by a job. It is removed when the job document has recorded the change. */
interface JobOutputQuotaMark {
  jobId: string;
  /** The direction: `in` takes quota, `out` returns the unused part of it. */
  way: 'in' | 'out';
  /** Identifies one of several attempts to return quota. The job document records the one that counts. */
  token: string;
  count: number;
  at: string;
}

/** Creates the document of an account that has none. */
const NEW_QUOTA_UPDATE = { $setOnInsert: { stored: 0, moving: [] } };

/**
 * The document stays after the deletion of its account: it contains nothing that the account stored, and the sweep
 * reduces its counter as it removes the assets.
 */
export const ASSET_QUOTA_COLLECTION: DeclaredCollection = {
  name: 'assetPlaces',
  indexes: [],
  onAccountDeletion: 'keep',
};

/**
 * The quota of assets in an account's plan. It is a stored counter, not a count of documents, so that one conditional
 * update admits exactly as many assets as the plan allows. While a change is not complete, the asset has an entry in
 * `moving`, so that the counter can be corrected after a crash:
 *
 *   in:  `reserve` counts the asset and adds the entry; the document becomes visible; `confirm` removes the entry
 *   out: the document is hidden; `markRemoval` adds the entry; the document is deleted; `giveBack` subtracts the asset
 *        from the counter and removes the entry
 *
 * The sweep completes each change that is left over: by `confirm` if the asset exists, and by `giveBack` if it does
 * not.
 */
export class AssetQuota {
  readonly #quota: DocumentCollection<QuotaDocument>;
  readonly #now: () => Date;

  constructor(documents: DocumentStore, now: () => Date) {
    this.#quota = documents.collection(ASSET_QUOTA_COLLECTION);
    this.#now = now;
  }

  async countStored(accountId: string): Promise<number> {
    return (await this.#quota.findOne({ _id: accountId }, { fields: ['stored'] }))?.stored ?? 0;
  }

  /**
   * Takes one unit of the quota. `full`: no unit is free. `moving`: no unit is free now, but this may change, because
   * some assets are being added or removed.
   */
  async reserve(accountId: string, assetId: string, limit: number): Promise<'reserved' | 'full' | 'moving'> {
    const update = { $inc: { stored: 1 }, $push: { moving: this.#newMove(assetId) } };
    const { modified } = await this.#quota.updateOne({ _id: accountId, stored: { $lt: limit } }, update);
    if (modified === 1) return 'reserved';
    const quota = await this.#quota.findOneAndUpdate({ _id: accountId }, NEW_QUOTA_UPDATE, { upsert: true });
    return isFull(quota, limit) ? 'full' : 'moving';
  }

  /** Whether the quota is certainly used up: no asset is being added or removed that might still change this. */
  async isFull(accountId: string, limit: number): Promise<boolean> {
    return isFull(await this.#quota.findOne({ _id: accountId }), limit);
  }

  /** Removes the entry in `moving` of an asset that is now visible, because its upload is complete. */
  async confirm(accountId: string, assetId: string): Promise<void> {
    await this.#quota.updateOne({ _id: accountId }, { $pull: { moving: { assetId } } });
  }

  /** Adds an entry to `moving` for a counted asset that is about to be removed. */
  async markRemoval(accountId: string, assetId: string): Promise<void> {
    const unmarked = { _id: accountId, moving: { $not: { $elemMatch: { assetId } } } };
    await this.#quota.updateOne(unmarked, { $push: { moving: this.#newMove(assetId) } });
  }

  /**
   * Gives back the unit of an asset, and removes the asset's entry in `moving`. Without such an entry, it does nothing.
   */
  async giveBack(accountId: string, assetId: string): Promise<void> {
    const marked = { _id: accountId, moving: { $elemMatch: { assetId } } };
    await this.#quota.updateOne(marked, { $inc: { stored: -1 }, $pull: { moving: { assetId } } });
  }

  /** For the sweep: the entries in `moving` of all accounts that were made before an instant. */
  async findStaleMoves(before: Date): Promise<Array<{ accountId: string; assetId: string }>> {
    const instant = before.toISOString();
    const quota = await this.#quota.find({ moving: { $elemMatch: { at: { $lt: instant } } } });
    return quota.flatMap(({ _id: accountId, moving }) =>
      moving.filter(({ at }) => at < instant).map(({ assetId }) => ({ accountId, assetId })),
    );
  }

  #newMove(assetId: string): QuotaDocument['moving'][number] {
    return { assetId, at: this.#now().toISOString() };
  }
}

function isFull(quota: QuotaDocument | null, limit: number): boolean {
  return quota !== null && quota.stored >= limit && quota.moving.length === 0;
}

/**
 * The quota for the outputs of jobs. A job reserves a unit for each output before it may run, so that no output exceeds
 * the plan, and gives the unused units back at its end. Each change has an entry in `marks` until the job document has
 * recorded the change, so that a crash between the two neither loses a unit nor gives it back twice:
 *
 *   in:  `reserve` counts the units and adds an `in` mark; the job document with the number of units becomes visible;
 *        `confirm` removes the mark
 *   out: `markReturn` adds an `out` mark with a token; the job document stores the first token; `giveBack` subtracts
 *        the units of the mark with this token and removes all marks of the job
 */
export class JobOutputQuota {
  readonly #quota: DocumentCollection<QuotaDocument>;
  readonly #now: () => Date;

  constructor(documents: DocumentStore, now: () => Date) {
    this.#quota = documents.collection(ASSET_QUOTA_COLLECTION);
    this.#now = now;
  }

  /** Takes quota for all outputs of a job, or for none. False when too little is left. */
  async reserve(accountId: string, jobId: string, count: number, limit: number): Promise<boolean> {
    if (count === 0) return true;
    const take = () =>
      this.#quota.updateOne(
        { _id: accountId, stored: { $lte: limit - count }, marks: { $not: { $elemMatch: { jobId } } } },
        { $inc: { stored: count }, $push: { marks: this.#newMark(jobId, 'in', count) } },
      );
    if ((await take()).modified === 1) return true;
    const quota = await this.#quota.findOneAndUpdate({ _id: accountId }, NEW_QUOTA_UPDATE, { upsert: true });
    if (findMark(quota, jobId) !== undefined) return true;
    return (await take()).modified === 1;
  }

  /** Removes the `in` mark of a job, because the job document has recorded the reserved units. */
  async confirm(accountId: string, jobId: string): Promise<void> {
    await this.#quota.updateOne({ _id: accountId }, { $pull: { marks: { jobId, way: 'in' } } });
  }

  /** Adds an `out` mark for units that are about to be given back, under the token of this attempt. */
  async markReturn(accountId: string, jobId: string, token: string, count: number): Promise<void> {
    const mark = { ...this.#newMark(jobId, 'out', count), token };
    await this.#quota.updateOne({ _id: accountId }, { $push: { marks: mark } });
  }

  /** Gives back the units of the mark with this token, and removes all marks of the job. */
  async giveBack(accountId: string, jobId: string, token: string): Promise<void> {
    const quota = await this.#quota.findOne({ _id: accountId }, { fields: ['marks'] });
    const mark = quota?.marks?.find((other) => other.jobId === jobId && other.token === token);
    if (mark !== undefined) {
      const marked = { _id: accountId, marks: { $elemMatch: { token } } };
      await this.#quota.updateOne(marked, { $inc: { stored: -mark.count }, $pull: { marks: { token } } });
    }
    await this.withdraw(accountId, jobId);
  }

  /** Gives back the quota of a job that was never made visible. */
  async undo(accountId: string, jobId: string): Promise<void> {
    const quota = await this.#quota.findOne({ _id: accountId }, { fields: ['marks'] });
    const mark = findMark(quota, jobId);
    if (mark?.way === 'in') await this.giveBack(accountId, jobId, mark.token);
  }

  /** Removes the marks of a job whose quota needs no change. */
  async withdraw(accountId: string, jobId: string): Promise<void> {
    await this.#quota.updateOne({ _id: accountId }, { $pull: { marks: { jobId } } });
  }

  /** For the sweep: jobs of all accounts with marks that were made before an instant. */
  async findStaleMarks(before: Date): Promise<Array<{ accountId: string; jobId: string }>> {
    const instant = before.toISOString();
    const quota = await this.#quota.find({ marks: { $elemMatch: { at: { $lt: instant } } } });
    return quota.flatMap(({ _id: accountId, marks = [] }) =>
      marks.filter(({ at }) => at < instant).map(({ jobId }) => ({ accountId, jobId })),
    );
  }

  #newMark(jobId: string, direction: JobOutputQuotaMark['way'], count: number): JobOutputQuotaMark {
    return { jobId, way: direction, token: randomText(12), count, at: this.#now().toISOString() };
  }
}

function findMark(quota: QuotaDocument | null, jobId: string): JobOutputQuotaMark | undefined {
  return quota?.marks?.find((mark) => mark.jobId === jobId);
}

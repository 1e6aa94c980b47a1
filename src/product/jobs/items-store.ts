import { type ListPage, type PagingQuery, readListPage } from '../../platform/http/lists.ts';
import { randomText } from '../../platform/ids/ids.ts';
import {
  type DeclaredCollection,
  type DocumentCollection,
  type DocumentFilter,
  type DocumentStore,
  type DocumentUpdate,
  sortBy,
} from '../../platform/stores/documents/port.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import {
  type ChainProgress,
  type ClaimedItem,
  type ItemDocument,
  type ItemError,
  type ItemOutcome,
  type ItemStatus,
  itemId,
  type JobDocument,
  type OutcomeStatus,
} from './job.ts';
import {
  ITEM_END_TRANSITIONS,
  ITEM_TRANSITIONS,
  type StateTransition,
  transitionFilter,
  transitionUpdate,
} from './transitions.ts';

/** The items. The indexes by number and status are for callers, the others for the engine and its sweeps. */
export const JOB_ITEMS_COLLECTION: DeclaredCollection = {
  name: 'jobItems',
  indexes: [
    { name: 'order', fields: sortBy('jobId', 'index') },
    { name: 'status', fields: sortBy('jobId', 'status', 'index') },
    { name: 'queue', fields: sortBy('jobId', 'queue', 'index'), whenPresent: ['queue'] },
    { name: 'lease', fields: sortBy('leaseUntil'), whenPresent: ['leaseUntil'] },
    { name: 'retry', fields: sortBy('notBefore'), whenPresent: ['notBefore'] },
    { name: 'awaiting', fields: sortBy('awaitsStore'), whenPresent: ['awaitsStore'] },
    { name: 'decided', fields: sortBy('decidedAt'), whenPresent: ['decidedAt'] },
  ],
  onAccountDeletion: 'keep',
};

const IDS_A_CALL = 500;
/** The number of items that are read per item to claim. Other processes may claim some of them at the same time. */
const CANDIDATES_PER_CLAIM = 4;
/** The end of a lease that every clock takes for expired. */
const OVER = new Date(0).toISOString();
/** The empty fields of a claim, for an item without an owner. */
const UNCLAIMED = { owner: '', claim: '', leaseUntil: '', ownerEnded: '' } as const;

type ClaimKey = Pick<ItemDocument, '_id' | 'epoch'>;

/** The items of jobs. The caller must have checked that the job belongs to its account. */
export class ItemsStore {
  readonly #items: DocumentCollection<ItemDocument>;
  readonly #now: () => Date;

  private constructor(items: DocumentCollection<ItemDocument>, now: () => Date) {
    this.#items = items;
    this.#now = now;
  }

  static async open(documents: DocumentStore, now: () => Date): Promise<ItemsStore> {
    return new ItemsStore(await documents.collection<ItemDocument>(JOB_ITEMS_COLLECTION), now);
  }

  /** One page in item order. */
  async list(
    { _id: jobId, accountId }: Pick<JobDocument, '_id' | 'accountId'>,
    status: ItemStatus | undefined,
    query: PagingQuery,
  ): Promise<ListPage<ItemDocument>> {
    const filter = { jobId, ...withoutAbsentFields({ status }) };
    const listing = { name: 'job-items', accountId, filters: { jobId, status }, sort: sortBy('index') };
    return readListPage(this.#items, filter, listing, query);
  }

  /** The first items of a job, optionally only those with a status. */
  async first(jobId: string, limit: number, status?: ItemStatus): Promise<ItemDocument[]> {
    return this.#items.find({ jobId, ...withoutAbsentFields({ status }) }, { sort: sortBy('index'), limit });
  }

  /** Yields the items with these statuses in the order of the job, `size` at a time, or some of their fields. */
  async *parts(
    jobId: string,
    statuses: readonly ItemStatus[],
    size: number,
    fields?: ReadonlyArray<keyof ItemDocument>,
  ): AsyncGenerator<ItemDocument[]> {
    let after = -1;
    for (;;) {
      const filter = { jobId, index: { $gt: after }, status: { $in: statuses } };
      const part = await this.#items.find(filter, {
        sort: sortBy('index'),
        limit: size,
        ...withoutAbsentFields({ fields }),
      });
      yield part;
      const last = part.at(-1);
      if (last === undefined || part.length < size) return;
      after = last.index;
    }
  }

  /** The items with these indexes, in no particular order. */
  async findByIndexes(jobId: string, indexes: readonly number[]): Promise<ItemDocument[]> {
    return this.#items.find({ _id: { $in: indexes.map((index) => itemId(jobId, index)) } });
  }

  async insert(items: readonly ItemDocument[]): Promise<void> {
    await this.#items.insertMany(items);
  }

  async count(jobId: string, status: ItemStatus): Promise<number> {
    return this.#items.count({ jobId, status });
  }

  /** Whether any item of the job still has no outcome. */
  async hasOpen(jobId: string): Promise<boolean> {
    const open = { jobId, status: { $in: ['PENDING', 'PROCESSING'] } };
    return (await this.#items.findOne(open, { fields: ['_id'] })) !== null;
  }

  /** The usage of items that a cancellation stopped between two segments. */
  async usedByCancelled(jobId: string): Promise<{ runs: number; credits: number }> {
    const [row] = await this.#items.group({
      filter: { jobId, status: 'CANCELLED' },
      by: { jobId: 'jobId' },
      sums: { runs: 'progress.runs', credits: 'progress.credits' },
    });
    return { runs: Number(row?.runs ?? 0), credits: Number(row?.credits ?? 0) };
  }

  /** The failure that represents a job: of the first item whose retry may succeed, else of the first failed item. */
  async firstFailure(jobId: string): Promise<ItemDocument | null> {
    const failed = { jobId, status: 'FAILED' };
    const first = { sort: sortBy('index') };
    const passing = await this.#items.findOne({ ...failed, 'outcome.retryable': true }, first);
    return passing ?? this.#items.findOne(failed, first);
  }

  /**
   * Claims up to `count` items of a job for `leaseMs`.
   * @returns null when no item is ready; an empty list when other processes have claimed the items that were read.
   */
  async claim(jobId: string, count: number, owner: string, leaseMs: number): Promise<ClaimedItem[] | null> {
    const ready = { jobId, ...transitionFilter(ITEM_TRANSITIONS.claim) };
    const claim = randomText(12);
    const taken = transitionUpdate(ITEM_TRANSITIONS.claim, {
      $set: this.#claimOf(owner, claim, leaseMs),
      $inc: { epoch: 1 },
    });
    if (count === 1) {
      const item = await this.#items.findOneAndUpdate(ready, taken, { sort: sortBy('index') });
      return item === null ? null : [item as ClaimedItem];
    }
    const candidates = await this.#items.find(ready, {
      sort: sortBy('index'),
      limit: count * CANDIDATES_PER_CLAIM,
      fields: ['_id'],
    });
    const start = Math.floor(Math.random() * Math.max(1, candidates.length - count + 1));
    const ids = candidates.slice(start, start + count).map(({ _id }) => _id);
    if (ids.length === 0) return null;
    const { modified } = await this.#items.updateMany(
      { _id: { $in: ids }, ...transitionFilter(ITEM_TRANSITIONS.claim) },
      taken,
    );
    if (modified === 0) return [];
    return (await this.#items.find({ _id: { $in: ids }, claim })) as ClaimedItem[];
  }

  #claimOf(owner: string, claim: string, leaseMs: number) {
    const now = this.#now();
    const leaseUntil = new Date(now.getTime() + leaseMs).toISOString();
    return { owner, claim, leaseUntil, startedAt: now.toISOString() };
  }

  /** A new item that is stored together with a claim, for an owner that works on it at once. */
  claimed(item: ItemDocument, owner: string, leaseMs: number): ClaimedItem {
    return {
      ...item,
      ...ITEM_TRANSITIONS.claim.to,
      ...this.#claimOf(owner, randomText(12), leaseMs),
      epoch: 1,
    };
  }

  /** Changes an item if its claim is still valid. @returns false when the claim was lost. */
  async #updateClaimed({ _id, epoch }: ClaimKey, update: DocumentUpdate): Promise<boolean> {
    return (await this.#items.updateOne({ _id, epoch, queue: 'claimed' }, update)).modified === 1;
  }

  /**
   * Moves an item to another state if its claim is still valid.
   * @returns false when the claim was lost.
   */
  async #moveClaimed(
    { _id, epoch }: ClaimKey,
    transition: StateTransition,
    { asRead = {}, ...changes }: DocumentUpdate & { asRead?: DocumentFilter },
  ): Promise<boolean> {
    const claimed = { _id, epoch, ...transitionFilter(transition), ...asRead };
    return (await this.#items.updateOne(claimed, transitionUpdate(transition, changes))).modified === 1;
  }

  /** Makes an item ready that was stored with a claim but never begun. */
  async unclaim(item: ClaimKey): Promise<void> {
    await this.#moveClaimed(item, ITEM_TRANSITIONS.giveBack, { $unset: { ...UNCLAIMED, startedAt: '' } });
  }

  /** Extends the leases of claims that the owner still has. */
  async renew(owner: string, ids: readonly string[], leaseMs: number): Promise<void> {
    const leaseUntil = new Date(this.#now().getTime() + leaseMs).toISOString();
    for (let start = 0; start < ids.length; start += IDS_A_CALL) {
      const part = ids.slice(start, start + IDS_A_CALL);
      await this.#items.updateMany({ _id: { $in: part }, owner, queue: 'claimed' }, { $set: { leaseUntil } });
    }
  }

  /**
   * Ends the leases of a process that has ended, so that others can claim its items at once.
   * @param owner the beginning of the owner's name.
   */
  async endLeases(owner: string): Promise<void> {
    const ofOwner = { $gte: `${owner}/`, $lt: `${owner}0` };
    await this.#items.updateMany(
      { leaseUntil: { $gt: '' }, queue: 'claimed', owner: ofOwner },
      { $set: { leaseUntil: OVER, ownerEnded: true } },
    );
  }

  /**
   * Stores the outcome of an item in the item itself.
   * @returns false when the claim was lost, or the item has changed since `asRead`.
   */
  async decide(item: ClaimKey, outcome: ItemOutcome, asRead?: DocumentFilter): Promise<boolean> {
    const isDecided = await this.#moveClaimed(item, ITEM_TRANSITIONS.decide, {
      ...withoutAbsentFields({ asRead }),
      $set: { outcome, decidedAt: this.#now().toISOString() },
      $unset: { ...UNCLAIMED, requestId: '' },
    });
    const { status, completedAt, resultAssetId = null } = outcome;
    return isDecided || this.#matches(item, nested('outcome', { status, completedAt, resultAssetId }));
  }

  /**
   * Puts an item back to be retried after an instant: after a failed try, a store outage, or for lack of a slot.
   * @param lastError why it is retried; absent for lack of a slot.
   */
  async retryLater(
    item: ClaimKey,
    notBefore: Date,
    counter: 'tries' | 'waits' | null,
    lastError?: ItemError,
  ): Promise<void> {
    await this.#moveClaimed(item, ITEM_TRANSITIONS.retryLater, {
      $set: {
        notBefore: notBefore.toISOString(),
        ...(counter === 'waits' && { awaitsStore: true }),
        ...withoutAbsentFields({ lastError }),
      },
      ...(counter !== null && { $inc: { [counter]: 1 } }),
      $unset: { ...UNCLAIMED, ...(counter === 'tries' && { requestId: '' }) },
    });
  }

  /**
   * Puts an item back unchanged, because its process ends, or ended before the item did.
   * @returns false when the claim was lost.
   */
  async giveBack(item: ClaimKey, counter: 'deaths' | 'lapses' | null = null): Promise<boolean> {
    return this.#moveClaimed(item, ITEM_TRANSITIONS.giveBack, {
      $unset: UNCLAIMED,
      ...(counter !== null && { $inc: { [counter]: 1 } }),
    });
  }

  /** Records the progress of an item of a chain. @returns false when the claim was lost. */
  async noteProgress(item: ClaimKey, progress: ChainProgress): Promise<boolean> {
    const note = { $set: { progress }, $unset: { requestId: '' } };
    const { segment, objectKey } = progress;
    const noted = { queue: 'claimed', ...nested('progress', { segment, objectKey }) };
    return (await this.#updateClaimed(item, note)) || this.#matches(item, noted);
  }

  /** Records a request that a provider is working on. @returns false when the claim was lost. */
  async noteRequest(item: ClaimKey, requestId: string): Promise<boolean> {
    const noted = { queue: 'claimed', requestId };
    return (await this.#updateClaimed(item, { $set: { requestId } })) || this.#matches(item, noted);
  }

  /**
   * Whether an item is in the state in which a step leaves it. The step was then carried out before, and its response
   * was lost.
   */
  async #matches({ _id, epoch }: ClaimKey, asLeft: DocumentFilter): Promise<boolean> {
    return (await this.#items.findOne({ _id, epoch, ...asLeft }, { fields: ['_id'] })) !== null;
  }

  /** Those of the items whose outcome is decided but not yet counted in the job. */
  async uncountedAmong(ids: readonly string[]): Promise<Set<string>> {
    const decided = await this.#items.find({ _id: { $in: ids }, queue: 'decided' }, { fields: ['_id'] });
    return new Set(decided.map(({ _id }) => _id));
  }

  /** Gives items their final status, once their outcomes are counted in the job. */
  async finalize(ids: readonly string[], status: OutcomeStatus): Promise<void> {
    const end = ITEM_END_TRANSITIONS[status];
    await this.#items.updateMany(
      { _id: { $in: ids }, ...transitionFilter(end) },
      transitionUpdate(end, { $unset: { decidedAt: '' } }),
    );
  }

  /** Cancels unclaimed items in steps. A single update of 100,000 items would block the store for all others. */
  async cancelWaiting(jobId: string): Promise<void> {
    const completedAt = this.#now().toISOString();
    const outcome = { status: 'CANCELLED', durationMs: 0, completedAt, runs: 0, credits: 0 };
    const cancel = transitionUpdate(ITEM_TRANSITIONS.cancel, {
      $set: { outcome },
      $unset: { notBefore: '', awaitsStore: '' },
    });
    for (const queue of ITEM_TRANSITIONS.cancel.from.queue) {
      for (;;) {
        const waiting = { sort: sortBy('index'), fields: ['index'] };
        const first = await this.#items.findOne({ jobId, queue }, waiting);
        if (first === null) break;
        const part = { $gte: first.index, $lt: first.index + IDS_A_CALL };
        await this.#items.updateMany({ jobId, queue, index: part }, cancel);
      }
    }
  }

  /** For the sweep: claims whose lease has expired. */
  async expiredLeases(limit: number): Promise<ClaimedItem[]> {
    const before = this.#now().toISOString();
    return (await this.#items.find({ leaseUntil: { $lt: before } }, { limit })) as ClaimedItem[];
  }

  /** For the sweep: items whose outcome was decided before an instant and is not counted yet. */
  async decidedBefore(before: Date, limit: number): Promise<ItemDocument[]> {
    return this.#items.find({ decidedAt: { $lt: before.toISOString() } }, { limit });
  }

  /** Ends the pauses of all items that wait for a store. */
  async endWaits(): Promise<void> {
    await this.#items.updateMany(
      { awaitsStore: true, queue: 'later' },
      { $set: { notBefore: this.#now().toISOString() } },
    );
  }

  /** Makes items ready whose pause has ended. @returns how many, and the ids of their jobs. */
  async promote(limit: number): Promise<{ promoted: number; jobIds: string[] }> {
    const due = await this.#items.find(
      { notBefore: { $lte: this.#now().toISOString() } },
      { limit, fields: ['jobId'] },
    );
    if (due.length === 0) return { promoted: 0, jobIds: [] };
    const { modified } = await this.#items.updateMany(
      { _id: { $in: due.map(({ _id }) => _id) }, ...transitionFilter(ITEM_TRANSITIONS.promote) },
      transitionUpdate(ITEM_TRANSITIONS.promote, { $unset: { notBefore: '', awaitsStore: '' } }),
    );
    return { promoted: modified, jobIds: [...new Set(due.map(({ jobId }) => jobId))] };
  }

  /** Some finished items of a chain whose second-last segment's object still exists. */
  async finishedWithObject(jobId: string, limit: number): Promise<ItemDocument[]> {
    const filter = { jobId, status: 'COMPLETED', 'progress.objectKey': { $gt: '' } };
    return this.#items.find(filter, { limit, fields: ['progress'] });
  }

  /** Clears the keys of objects that were deleted. */
  async forgetObjects(ids: readonly string[]): Promise<void> {
    await this.#items.updateMany({ _id: { $in: ids } }, { $set: { 'progress.objectKey': null } });
  }

  /** The keys of objects that the items of a job inherited from the previous attempt. */
  async inheritedBy(jobId: string): Promise<string[]> {
    const heirs = await this.#items.find({ jobId, inherits: { $gt: '' } }, { fields: ['inherits'] });
    return heirs.flatMap(({ inherits }) => inherits ?? []);
  }

  /** Removes at most `limit` items of a job. @returns their number. */
  async erase(jobId: string, limit: number): Promise<number> {
    const items = await this.#items.find({ jobId }, { limit, fields: ['_id'] });
    if (items.length > 0) await this.#items.deleteMany({ _id: { $in: items.map(({ _id }) => _id) } });
    return items.length;
  }
}

/** A filter on the fields of a nested object. */
function nested(part: string, fields: object): DocumentFilter {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [`${part}.${name}`, value]));
}

import { type ListPage, type OnLongRead, type PagingQuery, readListPage } from '../../platform/http/lists.ts';
import { randomText } from '../../platform/ids/ids.ts';
import {
  type DeclaredCollection,
  type DocumentCollection,
  type DocumentFilter,
  type DocumentStore,
  type DocumentUpdate,
  sortBy,
} from '../../platform/stores/documents/port.ts';
import { inBatches } from '../../platform/values/batches.ts';
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
  SHOWN_ITEM_FIELDS,
  type ShownItem,
} from './job.ts';
import {
  ITEM_END_TRANSITIONS,
  ITEM_TRANSITIONS,
  type StateTransition,
  transitionFilter,
  transitionUpdate,
} from './transitions.ts';

/**
 * The collection of items. The indexes `order` and `status` serve the calls of the API, the others the engine and its
 * sweeps.
 */
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

const ITEMS_PER_UPDATE = 500;
/**
 * How many items are read for each item to claim. The surplus replaces items that other processes claim at the same
 * time.
 */
const CANDIDATES_PER_CLAIM = 4;
/** A lease end that lies in the past on every clock, so that other processes can take over the claim at once. */
const EXPIRED_LEASE_END = new Date(0).toISOString();
/** The operand of $unset that removes the claim fields of an item. */
const UNSET_CLAIM_FIELDS = { owner: '', claim: '', leaseUntil: '', ownerEnded: '' } as const;

type ClaimKey = Pick<ItemDocument, '_id' | 'epoch'>;

/** The store of job items. It checks no account: callers must first find the job of the account. */
export class ItemsStore {
  readonly #items: DocumentCollection<ItemDocument>;
  readonly #now: () => Date;

  constructor(documents: DocumentStore, now: () => Date) {
    this.#items = documents.collection(JOB_ITEMS_COLLECTION);
    this.#now = now;
  }

  /** Lists one page of items, in the order of the job. */
  async list(
    { _id: jobId, accountId }: Pick<JobDocument, '_id' | 'accountId'>,
    status: ItemStatus | undefined,
    query: PagingQuery,
    onLong: OnLongRead,
  ): Promise<ListPage<ShownItem>> {
    const filter = { jobId, ...withoutAbsentFields({ status }) };
    const filters = { jobId, status };
    const listing = { name: 'job-items', accountId, filters, sort: sortBy('index'), onLong };
    return readListPage(this.#items, filter, listing, query, SHOWN_ITEM_FIELDS);
  }

  async findFirst(jobId: string, limit: number, status?: ItemStatus): Promise<ItemDocument[]> {
    return this.#items.find({ jobId, ...withoutAbsentFields({ status }) }, { sort: sortBy('index'), limit });
  }

  /** Yields items with these statuses (null: all) in batches of `size`, in the order of the job. */
  async *readBatches(
    jobId: string,
    statuses: readonly ItemStatus[] | null,
    size: number,
    fields?: ReadonlyArray<keyof ItemDocument>,
  ): AsyncGenerator<ItemDocument[]> {
    let after = -1;
    for (;;) {
      const rest = { jobId, ...(after >= 0 && { index: { $gt: after } }) };
      const filter = { ...rest, ...(statuses !== null && { status: { $in: statuses } }) };
      const options = { sort: sortBy('index'), limit: size, ...withoutAbsentFields({ fields }) };
      const batch = await this.#items.find(filter, options);
      yield batch;
      const last = batch.at(-1);
      if (last === undefined || batch.length < size) return;
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

  async countByStatus(jobId: string, status: ItemStatus): Promise<number> {
    return this.#items.count({ jobId, status });
  }

  /** Whether any item of the job still has no outcome. */
  async hasUnsettled(jobId: string): Promise<boolean> {
    const unsettled = { jobId, status: { $in: ['PENDING', 'PROCESSING'] } };
    return (await this.#items.findOne(unsettled, { fields: ['_id'] })) !== null;
  }

  /** The usage of items that were cancelled after some of their segments were done. These segments are still billed. */
  async sumUsageOfCancelled(jobId: string): Promise<{ runs: number; credits: number }> {
    const [row] = await this.#items.group({
      filter: { jobId, status: 'CANCELLED' },
      by: { jobId: 'jobId' },
      sums: { runs: 'progress.runs', credits: 'progress.credits' },
    });
    return { runs: Number(row?.runs ?? 0), credits: Number(row?.credits ?? 0) };
  }

  /** The failed item whose error the job shows: the first whose retry may succeed, or else the first of all. */
  async findFirstFailure(jobId: string): Promise<ItemDocument | null> {
    const failed = { jobId, status: 'FAILED' };
    const first = { sort: sortBy('index') };
    const retryable = await this.#items.findOne({ ...failed, 'outcome.retryable': true }, first);
    return retryable ?? this.#items.findOne(failed, first);
  }

  /**
   * Claims up to `count` items of a job for `leaseMs` milliseconds.
   * @returns null when no item is ready; an empty list when other processes were faster.
   */
  async claim(jobId: string, count: number, owner: string, leaseMs: number): Promise<ClaimedItem[] | null> {
    const claimable = transitionFilter(ITEM_TRANSITIONS.claim);
    const ready = { jobId, ...claimable };
    const claim = randomText(12);
    const claimUpdate = transitionUpdate(ITEM_TRANSITIONS.claim, {
      $set: this.#newClaim(owner, claim, leaseMs),
      $inc: { epoch: 1 },
    });
    if (count === 1) {
      const item = await this.#items.findOneAndUpdate(ready, claimUpdate, { sort: sortBy('index') });
      return item === null ? null : [item as ClaimedItem];
    }
    const options = { sort: sortBy('index'), limit: count * CANDIDATES_PER_CLAIM, fields: ['_id'] };
    const candidates = await this.#items.find(ready, options);
    const start = Math.floor(Math.random() * Math.max(1, candidates.length - count + 1));
    const ids = candidates.slice(start, start + count).map(({ _id }) => _id);
    if (ids.length === 0) return null;
    const { modified } = await this.#items.updateMany({ _id: { $in: ids }, ...claimable }, claimUpdate);
    if (modified === 0) return [];
    return (await this.#items.find({ _id: { $in: ids }, claim })) as ClaimedItem[];
  }

  #newClaim(owner: string, claim: string, leaseMs: number) {
    const now = this.#now();
    const leaseUntil = new Date(now.getTime() + leaseMs).toISOString();
    return { owner, claim, leaseUntil, startedAt: now.toISOString() };
  }

  /** A new item that is stored together with its first claim, for an owner that begins the work at once. */
  withNewClaim(item: ItemDocument, owner: string, leaseMs: number): ClaimedItem {
    return {
      ...item,
      ...ITEM_TRANSITIONS.claim.to,
      ...this.#newClaim(owner, randomText(12), leaseMs),
      epoch: 1,
    };
  }

  /** Makes a transition of an item, if the claim is still valid. Returns false when the claim was lost. */
  async #moveClaimed(
    { _id, epoch }: ClaimKey,
    transition: StateTransition,
    { asRead = {}, ...changes }: DocumentUpdate & { asRead?: DocumentFilter },
  ): Promise<boolean> {
    const claimed = { _id, epoch, ...transitionFilter(transition), ...asRead };
    return (await this.#items.updateOne(claimed, transitionUpdate(transition, changes))).modified === 1;
  }

  /** Makes an item ready to be claimed again. It was stored together with a claim, but the work on it never began. */
  async unclaim(item: ClaimKey): Promise<void> {
    await this.#moveClaimed(item, ITEM_TRANSITIONS.giveBack, {
      $unset: { ...UNSET_CLAIM_FIELDS, startedAt: '' },
    });
  }

  /** Extends the leases of those claims that the owner still holds. */
  async renew(owner: string, ids: readonly string[], leaseMs: number): Promise<void> {
    const leaseUntil = new Date(this.#now().getTime() + leaseMs).toISOString();
    for (const batch of inBatches(ids, ITEMS_PER_UPDATE))
      await this.#items.updateMany(
        { _id: { $in: batch }, owner, queue: 'claimed' },
        { $set: { leaseUntil } },
      );
  }

  /**
   * Ends the leases of a process that has ended, so that others can claim its items at once. The items count this as a
   * death of their process.
   * @param owner the name of the process, with which the names of its runners begin.
   */
  async endLeases(owner: string): Promise<void> {
    const ofOwner = { $gte: `${owner}/`, $lt: `${owner}0` };
    const claimed = { leaseUntil: { $gt: '' }, queue: 'claimed', owner: ofOwner };
    await this.#items.updateMany(claimed, { $set: { leaseUntil: EXPIRED_LEASE_END, ownerEnded: true } });
  }

  /** Ends all leases, because no process runs any more. An item does not count this as the loss of a process. */
  async endAllLeases(): Promise<void> {
    const claimed = { leaseUntil: { $gt: '' }, queue: 'claimed' };
    await this.#items.updateMany(claimed, { $set: { leaseUntil: EXPIRED_LEASE_END } });
  }

  /**
   * Decides the outcome of an item: stores it in the item's document.
   * @returns false when the claim was lost, or the item no longer has the fields of `asRead`.
   */
  async decide(item: ClaimKey, outcome: ItemOutcome, asRead?: DocumentFilter): Promise<boolean> {
    const isDecided = await this.#moveClaimed(item, ITEM_TRANSITIONS.decide, {
      ...withoutAbsentFields({ asRead }),
      $set: { outcome, decidedAt: this.#now().toISOString() },
      $unset: { ...UNSET_CLAIM_FIELDS, requestId: '' },
    });
    const { status, completedAt, resultAssetId = null } = outcome;
    const decided = nestedFilter('outcome', { status, completedAt, resultAssetId });
    return isDecided || this.#hasFields(item, decided);
  }

  /**
   * Puts an item back until an instant, after a failed try, a store outage, or the lack of a slot.
   * @param lastError the failure that the item shows meanwhile; absent when it only lacked a slot.
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
      $unset: { ...UNSET_CLAIM_FIELDS, ...(counter === 'tries' && { requestId: '' }) },
    });
  }

  /**
   * Puts an item back unchanged, because its process is stopping or has died. Returns false when the claim was lost.
   * @param counter the counter of lost claims to increase. Null: the loss is not counted.
   */
  async giveBack(item: ClaimKey, counter: 'deaths' | 'lapses' | null = null): Promise<boolean> {
    return this.#moveClaimed(item, ITEM_TRANSITIONS.giveBack, {
      $unset: UNSET_CLAIM_FIELDS,
      ...(counter !== null && { $inc: { [counter]: 1 } }),
    });
  }

  /** Records the progress of an item of a chain. Returns false when the claim was lost. */
  async recordProgress(item: ClaimKey, progress: ChainProgress): Promise<boolean> {
    const { segment, objectKey } = progress;
    const recorded = nestedFilter('progress', { segment, objectKey });
    return this.#updateClaimed(item, { $set: { progress }, $unset: { requestId: '' } }, recorded);
  }

  /** Records the id of a request on which a provider is working. Returns false when the claim was lost. */
  async recordProviderRequest(item: ClaimKey, requestId: string): Promise<boolean> {
    return this.#updateClaimed(item, { $set: { requestId } }, { requestId });
  }

  /**
   * Changes an item, if the claim is still valid.
   * @param expectedFields fields of the item after the update. They show whether an earlier attempt of the update
   * succeeded.
   * @returns false when the claim was lost.
   */
  async #updateClaimed(item: ClaimKey, update: DocumentUpdate, expectedFields: DocumentFilter) {
    const claimed = { _id: item._id, epoch: item.epoch, queue: 'claimed' };
    const { modified } = await this.#items.updateOne(claimed, update);
    return modified === 1 || this.#hasFields(item, { queue: 'claimed', ...expectedFields });
  }

  /**
   * Whether an item already has the fields that an update sets. If so, an earlier attempt at the update succeeded, and
   * only its response was lost.
   */
  async #hasFields({ _id, epoch }: ClaimKey, expectedFields: DocumentFilter): Promise<boolean> {
    return (await this.#items.findOne({ _id, epoch, ...expectedFields }, { fields: ['_id'] })) !== null;
  }

  /** Finds which of these items have a decided outcome that the job has not counted yet. */
  async findUncounted(ids: readonly string[]): Promise<Set<string>> {
    const decided = await this.#items.find({ _id: { $in: ids }, queue: 'decided' }, { fields: ['_id'] });
    return new Set(decided.map(({ _id }) => _id));
  }

  /** Gives items their final status. Their outcomes must already be counted in the job. */
  async finalize(ids: readonly string[], status: OutcomeStatus): Promise<void> {
    const end = ITEM_END_TRANSITIONS[status];
    const filter = { _id: { $in: ids }, ...transitionFilter(end) };
    await this.#items.updateMany(filter, transitionUpdate(end, { $unset: { decidedAt: '' } }));
  }

  /** Cancels the unclaimed items of a job in several updates, because a single one might block the store for long. */
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
        const part = { $gte: first.index, $lt: first.index + ITEMS_PER_UPDATE };
        await this.#items.updateMany({ jobId, queue, index: part }, cancel);
      }
    }
  }

  /** For the sweep: claims whose lease has expired. */
  async findExpiredLeases(limit: number): Promise<ClaimedItem[]> {
    const before = this.#now().toISOString();
    return (await this.#items.find({ leaseUntil: { $lt: before } }, { limit })) as ClaimedItem[];
  }

  /** For the sweep: items whose outcome was decided before an instant and is not counted yet. */
  async findDecidedBefore(before: Date, limit: number): Promise<ItemDocument[]> {
    return this.#items.find({ decidedAt: { $lt: before.toISOString() } }, { limit });
  }

  async endStoreWaits(): Promise<void> {
    const notBefore = this.#now().toISOString();
    await this.#items.updateMany({ awaitsStore: true, queue: 'later' }, { $set: { notBefore } });
  }

  /** Makes items ready whose pause has ended. Returns how many there were, and the ids of their jobs. */
  async promote(limit: number): Promise<{ promoted: number; jobIds: string[] }> {
    const dueFilter = { notBefore: { $lte: this.#now().toISOString() } };
    const due = await this.#items.find(dueFilter, { limit, fields: ['jobId'] });
    if (due.length === 0) return { promoted: 0, jobIds: [] };
    const filter = { _id: { $in: due.map(({ _id }) => _id) }, ...transitionFilter(ITEM_TRANSITIONS.promote) };
    const update = transitionUpdate(ITEM_TRANSITIONS.promote, { $unset: { notBefore: '', awaitsStore: '' } });
    const { modified } = await this.#items.updateMany(filter, update);
    return { promoted: modified, jobIds: [...new Set(due.map(({ jobId }) => jobId))] };
  }

  /** Finished items of a chain that still have an intermediate object. */
  async findFinishedWithObject(jobId: string, limit: number): Promise<ItemDocument[]> {
    const filter = { jobId, status: 'COMPLETED', 'progress.objectKey': { $gt: '' } };
    return this.#items.find(filter, { limit, fields: ['progress'] });
  }

  async clearObjectKeys(ids: readonly string[]): Promise<void> {
    await this.#items.updateMany({ _id: { $in: ids } }, { $set: { 'progress.objectKey': null } });
  }

  /** The keys of the objects that items of a job inherited from the previous attempt. */
  async findInheritedKeys(jobId: string): Promise<string[]> {
    const inheriting = await this.#items.find({ jobId, inherits: { $gt: '' } }, { fields: ['inherits'] });
    return inheriting.flatMap(({ inherits }) => inherits ?? []);
  }

  /** Removes at most `limit` items of a job, and returns their number. */
  async erase(jobId: string, limit: number): Promise<number> {
    const items = await this.#items.find({ jobId }, { limit, fields: ['_id'] });
    if (items.length > 0) await this.#items.deleteMany({ _id: { $in: items.map(({ _id }) => _id) } });
    return items.length;
  }
}

function nestedFilter(parent: string, fields: object): DocumentFilter {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [`${parent}.${name}`, value]));
}

import { type ListPage, type PagingQuery, readListPage } from '../../platform/http/lists.ts';
import {
  type DeclaredCollection,
  type DocumentCollection,
  type DocumentFilter,
  type DocumentStore,
  type DocumentUpdate,
  sortBy,
} from '../../platform/stores/documents/port.ts';
import { ACCOUNTS_COLLECTION } from '../accounts/store.ts';
import { UsageStore } from './usage-store.ts';

/**
 * The type of a movement. `hold` and `release` change only the held credits. `charge` and `overage` reduce the balance,
 * and may use held credits.
 */
export type MovementType = 'grant' | 'charge' | 'overage' | 'hold' | 'release';

/** One row of the ledger. Rows are written once, in the order of `sequence`, and never changed. */
export interface LedgerRow {
  _id: string;
  accountId: string;
  /**
   * Identifies the purpose of the movement, such as `hold/<jobId>`. It is unique within the account: a second movement
   * with the same reference does nothing.
   */
  reference: string;
  sequence: number;
  type: MovementType;
  /** The signed change of the balance; 0 for hold and release. */
  credits: number;
  /** The amount that was held or released; 0 for other types. */
  held: number;
  balanceAfter: number;
  jobId: string | null;
  /** Runs of the allowance that the movement counted or gave back. */
  runs?: {
    /** `YYYY-MM`: the billing period of the runs. */
    period: string;
    /** Signed change of the runs counted as used. */
    change: number;
    /** How many of the counted runs are beyond the allowance. */
    past: number;
  };
  note: string | null;
  createdAt: string;
}

/**
 * An admitted run that has not ended. Until it ends or `until` passes, the run counts as used and its credits are held.
 */
export interface RunReservation {
  id: string;
  period: string;
  credits: number;
  until: string;
  /** The process that serves the call. */
  holder: string;
}

/** The credits of an account: the billing view of its document in ACCOUNTS_COLLECTION. Only billing changes it. */
export interface BillingAccount {
  _id: string;
  plan: string;
  balance: number;
  held: number;
  /** The last movement in full, so that the next movement can write its ledger row. */
  movement: LedgerRow | null;
  processing: RunCount;
}

/** How many runs were counted against the allowance in the account's latest period. */
export interface RunCount {
  period: string;
  used: number;
  reservations: RunReservation[];
  /** The latest batches of runs that were added to `used` (see sync-runs.ts), so that no batch is added twice. */
  batches?: string[];
}

/** The index by which rows are found by their reference. The reference is unique in an account. */
const REFERENCE_INDEX = {
  name: 'reference',
  fields: sortBy('accountId', 'reference'),
  unique: true,
} as const;

export const LEDGER_ROWS_COLLECTION: DeclaredCollection = {
  name: 'ledger',
  indexes: [REFERENCE_INDEX, { name: 'sequence', fields: sortBy('accountId', '-sequence'), unique: true }],
  onAccountDeletion: 'keep',
};
export const RUN_MOVEMENTS_COLLECTION: DeclaredCollection = {
  name: 'runMovements',
  indexes: [REFERENCE_INDEX, { name: 'createdAt', fields: sortBy('createdAt') }],
  onAccountDeletion: 'keep',
};

/**
 * The store of credits and of the ledger. Only `change` moves credits: it applies the condition and the update of a
 * movement at once.
 */
export class BillingStore {
  readonly #accounts: DocumentCollection<BillingAccount>;
  readonly #ledger: DocumentCollection<LedgerRow>;
  /**
   * Movements that change only runs and no credits. They are not in the ledger, but a reference is unique here as well.
   */
  readonly #runMovements: DocumentCollection<LedgerRow>;
  readonly usage: UsageStore;

  constructor(documents: DocumentStore) {
    this.#accounts = documents.collection(ACCOUNTS_COLLECTION);
    this.#ledger = documents.collection(LEDGER_ROWS_COLLECTION);
    this.#runMovements = documents.collection(RUN_MOVEMENTS_COLLECTION);
    this.usage = new UsageStore(documents);
  }

  /** The billing view of an account; null when there is no such account. */
  find(accountId: string): Promise<BillingAccount | null> {
    const fields = ['plan', 'balance', 'held', 'movement', 'processing'];
    return this.#accounts.findOne({ _id: accountId }, { fields });
  }

  /** The credits of an account; zero when there is no such account. */
  async findCredits(accountId: string): Promise<Pick<BillingAccount, 'balance' | 'held'>> {
    const account = await this.#accounts.findOne({ _id: accountId }, { fields: ['balance', 'held'] });
    return account ?? { balance: 0, held: 0 };
  }

  async findLastMovement(accountId: string): Promise<LedgerRow | null> {
    return (await this.#accounts.findOne({ _id: accountId }, { fields: ['movement'] }))?.movement ?? null;
  }

  /** Changes the credits of an account in one update, if the condition holds. Returns whether the condition held. */
  async change(accountId: string, condition: DocumentFilter, update: DocumentUpdate): Promise<boolean> {
    const { modified } = await this.#accounts.updateOne({ _id: accountId, ...condition }, update);
    return modified === 1;
  }

  /**
   * Restarts the count of an account's runs when its period is over. Returns false when the count was restarted
   * already.
   */
  beginPeriod(accountId: string, period: string): Promise<boolean> {
    const update = { $set: { 'processing.period': period, 'processing.used': 0 } };
    return this.change(accountId, { 'processing.period': { $lt: period } }, update);
  }

  /**
   * Finds the row of a movement by its reference; null if none has been written yet.
   * @param isOfJob whether a job made the movement. A movement of a job that changes only the count of runs is stored
   * outside the ledger, so both places are searched.
   */
  async findRowByReference(
    accountId: string,
    reference: string,
    isOfJob: boolean,
  ): Promise<LedgerRow | null> {
    const [row, note] = await Promise.all([
      this.#ledger.findOne({ accountId, reference }),
      isOfJob ? this.#runMovements.findOne({ accountId, reference }) : null,
    ]);
    return row ?? note;
  }

  /**
   * Writes a row, unless it exists. A movement of runs within the allowance has no credits, so no row is written for
   * it.
   */
  async writeRow(row: LedgerRow): Promise<void> {
    const movesCredits = row.credits !== 0 || row.held !== 0;
    await (movesCredits ? this.#ledger : this.#runMovements).insertMany([row]);
  }

  /** Rows of the ledger, newest first. */
  listRows(accountId: string, query: PagingQuery): Promise<ListPage<LedgerRow>> {
    const listing = { name: 'ledger', accountId, filters: {}, sort: sortBy('-sequence') };
    return readListPage(this.#ledger, { accountId }, listing, query);
  }

  /** For the operator: the balances of several accounts, by account id. */
  async readBalances(accountIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#accounts.find({ _id: { $in: accountIds } }, { fields: ['balance'] });
    return new Map(rows.map(({ _id, balance }) => [_id, balance]));
  }

  /** For the sweep: some accounts with a reservation that ended before an instant. */
  findWithExpiredReservations(before: Date, limit: number): Promise<BillingAccount[]> {
    const expired = { $elemMatch: { until: { $lt: before.toISOString() } } };
    return this.#accounts.find({ 'processing.reservations': expired }, { limit });
  }

  /** Releases the credits of a reservation, and subtracts its run from the count of its billing period. */
  async uncountReservation(accountId: string, { id, period, credits }: RunReservation): Promise<void> {
    const here = { 'processing.reservations': { $elemMatch: { id } } };
    const freed = { $pull: { 'processing.reservations': { id } }, $inc: { held: -credits } };
    const counted = { ...freed, $inc: { held: -credits, 'processing.used': -1 } };
    const wasCounted = await this.change(accountId, { ...here, 'processing.period': period }, counted);
    if (!wasCounted) await this.change(accountId, here, freed);
  }

  /**
   * Releases the reservations of a process that has ended.
   * @param holder the name of the process; without it, the reservations of all processes are released.
   */
  async releaseReservations(holder?: string): Promise<void> {
    const its = { $elemMatch: holder === undefined ? { id: { $gt: '' } } : { holder } };
    for (const { _id, processing } of await this.#accounts.find({ 'processing.reservations': its })) {
      for (const reservation of processing.reservations)
        if (holder === undefined || reservation.holder === holder)
          await this.uncountReservation(_id, reservation);
    }
  }

  /**
   * For the sweep: moves counts of periods after `latest` to `period`, because only a host with a wrong clock can have
   * written them. Returns the number of changed accounts.
   * @param latest the latest period that the clock of any host can have.
   */
  async resetFuturePeriods(latest: string, period: string): Promise<number> {
    const update = { $set: { 'processing.period': period } };
    const { modified } = await this.#accounts.updateMany({ 'processing.period': { $gt: latest } }, update);
    return modified;
  }

  /** For the sweep: deletes the records of run movements from before an instant, and returns their number. */
  deleteRunMovements(before: Date): Promise<number> {
    return this.#runMovements.deleteMany({ createdAt: { $lt: before.toISOString() } });
  }
}

/** The credits that an account can spend. */
export function availableCreditsOf({ balance, held }: Pick<BillingAccount, 'balance' | 'held'>): number {
  return balance - held;
}

/** The condition that an account can spend this many credits. */
export function canSpendFilter(credits: number): DocumentFilter {
  return { $expr: { $gte: [{ $subtract: ['$balance', '$held'] }, credits] } };
}

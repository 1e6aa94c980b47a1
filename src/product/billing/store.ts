import { type Listing, type Page, type PagingQuery, readPage } from '../../platform/http/lists/paging.ts';
import {
  type Collection,
  type DeclaredCollection,
  type Documents,
  type Filter,
  order,
  type Update,
} from '../../platform/stores/documents/port.ts';
import { UsageStore } from './usage-store.ts';

/** `hold` and `release` move no balance; `charge` and `overage` may consume what was held. */
export type MovementType = 'grant' | 'charge' | 'overage' | 'hold' | 'release';

/** One row of the ledger. Rows are written once, in the order of `sequence`, and never changed. */
export interface LedgerRow {
  _id: string;
  accountId: string;
  /** Unique in the account: what the movement is for. Moving twice under one reference is one movement. */
  reference: string;
  sequence: number;
  type: MovementType;
  /** Signed; 0 on hold and release. */
  credits: number;
  /** The amount held or released; 0 on the others. */
  held: number;
  balanceAfter: number;
  jobId: string | null;
  /** Runs of the allowance that the movement counted or gave back. */
  runs?: { period: string; change: number; past: number };
  note: string | null;
  createdAt: string;
}

/**
 * A run that was let in and has not ended: counted as used, and its credits held, until it settles or `until` passes.
 */
export interface Reservation {
  id: string;
  /** `YYYY-MM`: the billing period it was counted in. */
  period: string;
  credits: number;
  until: string;
}

/** The money of an account: the billing view of the account document. */
export interface Money {
  _id: string;
  plan: string;
  balance: number;
  held: number;
  /** The last movement, whole: the next mover can write out its ledger row. */
  movement: LedgerRow | null;
  processing: Processing;
}

/** Runs against the allowance, in the period that was counted last. */
export interface Processing {
  period: string;
  used: number;
  reservations: Reservation[];
  /** The last batches of runs that raised `used` (see sync-runs.ts), so that none does so twice. */
  batches?: string[];
}

/** The rows of a reference are looked for by it, and one account has one. */
const REFERENCE = { name: 'reference', fields: order('accountId', 'reference'), unique: true } as const;

const SEQUENCE = { name: 'sequence', fields: order('accountId', '-sequence'), unique: true } as const;

/** The account documents, which accounts/store.ts declares; their money is billing's. */
const MONEY = { name: 'accounts', indexes: [] };
export const LEDGER_ROWS: DeclaredCollection = {
  name: 'ledger',
  indexes: [REFERENCE, SEQUENCE],
  onAccountDeletion: 'keep',
};
export const RUN_MOVEMENTS: DeclaredCollection = {
  name: 'runMovements',
  indexes: [REFERENCE, { name: 'createdAt', fields: order('createdAt') }],
  onAccountDeletion: 'keep',
};

const LEDGER: Listing = { name: 'ledger', filters: {}, sort: order('-sequence') };

/**
 * The money of accounts and the rows of what moved it. Only billing moves money: `change` is for its rules, which hold
 * the condition and the update of each movement together.
 */
export class BillingStore {
  readonly #money: Collection<Money>;
  readonly #ledger: Collection<LedgerRow>;
  /** Movements that counted runs and moved no credits: no line of the ledger, but each is made once as well. */
  readonly #runMovements: Collection<LedgerRow>;
  readonly usage: UsageStore;

  private constructor(
    money: Collection<Money>,
    ledger: Collection<LedgerRow>,
    runMovements: Collection<LedgerRow>,
    usage: UsageStore,
  ) {
    this.#money = money;
    this.#ledger = ledger;
    this.#runMovements = runMovements;
    this.usage = usage;
  }

  static async open(documents: Documents): Promise<BillingStore> {
    return new BillingStore(
      await documents.collection(MONEY),
      await documents.collection(LEDGER_ROWS),
      await documents.collection(RUN_MOVEMENTS),
      await UsageStore.open(documents),
    );
  }

  /** The money of an account; null when there is no such account. */
  find(accountId: string): Promise<Money | null> {
    const fields = ['plan', 'balance', 'held', 'movement', 'processing'];
    return this.#money.findOne({ _id: accountId }, { fields });
  }

  /** The money of an account; null when there is no such account. */
  async findCredits(accountId: string): Promise<Pick<Money, 'balance' | 'held'>> {
    const account = await this.#money.findOne({ _id: accountId }, { fields: ['balance', 'held'] });
    return account ?? { balance: 0, held: 0 };
  }

  /** The last movement of an account; null when there was none. */
  async lastMovement(accountId: string): Promise<LedgerRow | null> {
    return (await this.#money.findOne({ _id: accountId }, { fields: ['movement'] }))?.movement ?? null;
  }

  /** Changes the money of an account in one step, if the condition holds then; whether it did. */
  async change(accountId: string, condition: Filter, update: Update): Promise<boolean> {
    const { modified } = await this.#money.updateOne({ _id: accountId, ...condition }, update);
    return modified === 1;
  }

  /** The row of a reference; null when it was not written. Only a job's movement may have moved no credits. */
  async rowUnder(accountId: string, reference: string, isOfJob: boolean): Promise<LedgerRow | null> {
    const [row, note] = await Promise.all([
      this.#ledger.findOne({ accountId, reference }),
      isOfJob ? this.#runMovements.findOne({ accountId, reference }) : null,
    ]);
    return row ?? note;
  }

  /** Writes a row, unless it was written before. */
  async writeRow(row: LedgerRow): Promise<void> {
    await (movesCredits(row) ? this.#ledger : this.#runMovements).insertMany([row]);
  }

  /** Rows of the ledger, newest first. */
  listRows(accountId: string, query: PagingQuery): Promise<Page<LedgerRow>> {
    return readPage(this.#ledger, { accountId }, LEDGER, query);
  }

  /** For the operator: the balances of these accounts. */
  async balancesOf(accountIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#money.find({ _id: { $in: accountIds } }, { fields: ['balance'] });
    return new Map(rows.map(({ _id, balance }) => [_id, balance]));
  }

  /** For the sweep: some accounts with a reservation that ended before an instant. */
  findWithExpiredReservations(before: Date, limit: number): Promise<Money[]> {
    const expired = { $elemMatch: { until: { $lt: before.toISOString() } } };
    return this.#money.find({ 'processing.reservations': expired }, { limit });
  }

  /** For the sweep: has accounts whose count is of a period after `latest` count in `period`; answers how many. */
  async turnBackPeriods(latest: string, period: string): Promise<number> {
    const { modified } = await this.#money.updateMany(
      { 'processing.period': { $gt: latest } },
      { $set: { 'processing.period': period } },
    );
    return modified;
  }

  /** For the sweep: forgets movements of runs that were made before an instant; answers how many. */
  forgetRunMovements(before: Date): Promise<number> {
    return this.#runMovements.deleteMany({ createdAt: { $lt: before.toISOString() } });
  }
}

/** A movement without credits (runs within the allowance) is no line of a ledger, and is noted beside it. */
function movesCredits({ credits, held }: LedgerRow): boolean {
  return credits !== 0 || held !== 0;
}

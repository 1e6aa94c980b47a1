import type { Collection, Documents } from '../stores/documents/port.ts';
import { openUsageStore, type UsageStore } from './usage-store.ts';

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

/** A run that was let in and has not ended: counted as used, and its credits held, until it settles or `until` passes. */
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

export interface BillingStore {
  money: Collection<Money>;
  ledger: Collection<LedgerRow>;
  /** Movements that counted runs and moved no credits: no line of the ledger, but each is made once as well. */
  runMovements: Collection<LedgerRow>;
  usage: UsageStore;
}

export async function openBillingStore(documents: Documents): Promise<BillingStore> {
  const [money, ledger, runMovements, usage] = await Promise.all([
    documents.collection<Money>({ name: 'accounts', indexes: [] }),
    documents.collection<LedgerRow>({
      name: 'ledger',
      indexes: [
        {
          name: 'reference',
          fields: [
            ['accountId', 1],
            ['reference', 1],
          ],
          unique: true,
        },
        {
          name: 'sequence',
          fields: [
            ['accountId', 1],
            ['sequence', -1],
          ],
          unique: true,
        },
      ],
    }),
    documents.collection<LedgerRow>({
      name: 'runMovements',
      indexes: [
        {
          name: 'reference',
          fields: [
            ['accountId', 1],
            ['reference', 1],
          ],
          unique: true,
        },
        { name: 'createdAt', fields: [['createdAt', 1]] },
      ],
    }),
    openUsageStore(documents),
  ]);
  return { money, ledger, runMovements, usage };
}

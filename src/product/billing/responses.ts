import { present } from '../../platform/values/present.ts';
import type { Credits } from '../accounts/schema.ts';
import type { LedgerEntry } from './schema.ts';
import { availableOf, type BillingAccount, type LedgerRow } from './store.ts';

/** The credits of an account as the API shows them. */
export function creditsOf({ balance, held }: Pick<BillingAccount, 'balance' | 'held'>): Credits {
  return { balance, held, available: availableOf({ balance, held }) };
}

/** A movement as the API shows it. */
export function entryOf(row: LedgerRow): LedgerEntry {
  const { _id: id, type, credits, held, balanceAfter, jobId, note, createdAt } = row;
  return { id, type, credits, held, balanceAfter, ...present({ jobId, note }), createdAt };
}

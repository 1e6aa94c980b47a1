import { withoutAbsentFields } from '../../platform/values/present.ts';
import type { AccountCredits } from '../accounts/schema.ts';
import type { LedgerEntry } from './schema.ts';
import { availableCreditsOf, type BillingAccount, type LedgerRow } from './store.ts';

/** The credits of an account as the API shows them. */
export function accountCreditsOf({
  balance,
  held,
}: Pick<BillingAccount, 'balance' | 'held'>): AccountCredits {
  return { balance, held, available: availableCreditsOf({ balance, held }) };
}

/** A movement as the API shows it. */
export function ledgerEntryOf(row: LedgerRow): LedgerEntry {
  const { _id: id, type, credits, held, balanceAfter, jobId, note, createdAt } = row;
  return { id, type, credits, held, balanceAfter, ...withoutAbsentFields({ jobId, note }), createdAt };
}

import type { Credits } from '../accounts/schema.ts';
import type { LedgerEntry } from './schema.ts';
import type { LedgerRow, Money } from './store.ts';

/** The credits of an account, as told. */
export function creditsOf({ balance, held }: Pick<Money, 'balance' | 'held'>): Credits {
  return { balance, held, available: balance - held };
}

/** A movement, as told. */
export function entryOf({
  _id: id,
  type,
  credits,
  held,
  balanceAfter,
  jobId,
  note,
  createdAt,
}: LedgerRow): LedgerEntry {
  return {
    id,
    type,
    credits,
    held,
    balanceAfter,
    ...(jobId === null ? {} : { jobId }),
    ...(note === null ? {} : { note }),
    createdAt,
  };
}

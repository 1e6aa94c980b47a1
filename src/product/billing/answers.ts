import { present } from '../../platform/names/present.ts';
import type { Credits } from '../accounts/schema.ts';
import type { LedgerEntry } from './schema.ts';
import type { LedgerRow, Money } from './store.ts';

/** The credits of an account as the API shows them. */
export function creditsOf({ balance, held }: Pick<Money, 'balance' | 'held'>): Credits {
  return { balance, held, available: balance - held };
}

/** A movement as the API shows it. */
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
    ...present({ jobId, note }),
    createdAt,
  };
}

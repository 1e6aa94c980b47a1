import type { Test } from 'tap';
import { newId } from '../../../src/platform/ids/ids.ts';
import type { DocumentCollection, DocumentStore } from '../../../src/platform/stores/documents/port.ts';
import { ACCOUNTS_COLLECTION } from '../../../src/product/accounts/store.ts';
import { type CreditMovement, CreditMovements } from '../../../src/product/billing/movements.ts';
import type { Plan } from '../../../src/product/billing/plans.ts';
import { type BillingAccount, BillingStore, type LedgerRow } from '../../../src/product/billing/store.ts';
import { type Death, dyingStores } from '../../support/dying.ts';

export const LIMITED: Plan = {
  id: 'limited',
  processLimit: 2,
  overageCredits: 1,
  storedAssets: 100,
  retentionDays: 7,
};
export const UNLIMITED: Plan = {
  id: 'unlimited',
  processLimit: -1,
  overageCredits: null,
  storedAssets: 100,
  retentionDays: 90,
};

/** Looks a plan of the tests up. */
export function planOf(id: string): Plan {
  return id === LIMITED.id ? LIMITED : UNLIMITED;
}

/** The accounts of a store, as they lie in it. */
export function accountsIn(documents: DocumentStore): DocumentCollection<BillingAccount & { email: string }> {
  return documents.collection(ACCOUNTS_COLLECTION);
}

/** Makes an account with credits: what billing knows of it, and a unique e-mail address. */
export async function openAccount(
  documents: DocumentStore,
  { credits = 0, plan = UNLIMITED.id }: { credits?: number; plan?: string } = {},
): Promise<{ store: BillingStore; accountId: string }> {
  const store = new BillingStore(documents);
  const accountId = newId('acc');
  await accountsIn(documents).insertOne({
    _id: accountId,
    email: `${accountId}@example.test`,
    plan,
    balance: 0,
    held: 0,
    movement: null,
    processing: { period: '', used: 0, reservations: [] },
  });
  if (credits > 0) await new CreditMovements(store, () => new Date()).move(accountId, grant(credits));
  return { store, accountId };
}

export function grant(credits: number, reference = 'first'): CreditMovement {
  return { reference, type: 'grant', credits, heldChange: 0 };
}

export function hold(credits: number, reference: string): CreditMovement {
  return { reference, type: 'hold', credits: 0, heldChange: credits };
}

export function release(credits: number, reference: string): CreditMovement {
  return { reference, type: 'release', credits: 0, heldChange: -credits };
}

/** Pays with what was held. */
export function charge(credits: number, reference: string): CreditMovement {
  return { reference, type: 'charge', credits: -credits, heldChange: -credits };
}

export async function moneyOf(store: BillingStore, accountId: string): Promise<BillingAccount> {
  const account = await store.find(accountId);
  if (account === null) throw new Error(`There is no account ${accountId}.`);
  return account;
}

/** The rows of an account in their order. */
export async function ledgerOf(store: BillingStore, accountId: string): Promise<LedgerRow[]> {
  const newestFirst: LedgerRow[] = [];
  for (let page = 0; ; page += 1) {
    const { rows, meta } = await store.listRows(accountId, { page });
    newestFirst.push(...rows);
    if (meta.nextCursor === null) return newestFirst.reverse();
  }
}

/** The law of the ledger: its credits sum to the balance, row by row, without a gap; answers the rows. */
export async function checkLedger(t: Test, store: BillingStore, accountId: string): Promise<LedgerRow[]> {
  await new CreditMovements(store, () => new Date()).writeLastRow(accountId);
  const { balance, held } = await moneyOf(store, accountId);
  const rows = await ledgerOf(store, accountId);
  let sum = 0;
  const broken = rows.filter(({ credits, balanceAfter, sequence }, index) => {
    sum += credits;
    return balanceAfter !== sum || sequence !== index + 1;
  });
  t.same(broken, [], 'every row continues the one before');
  t.equal(sum, balance, 'the ledger sums to the balance');
  t.ok(held >= 0 && held <= balance, `held ${held} is within the balance ${balance}`);
  return rows;
}

/** The store as a process sees it that dies. */
export function dyingStore(documents: DocumentStore, death: Death): BillingStore {
  return new BillingStore(dyingStores({ documents }, death).documents);
}

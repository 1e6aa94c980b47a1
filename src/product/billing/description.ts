import type { Account, AccountLimits } from '../accounts/schema.ts';
import type { AccountsStore } from '../accounts/store.ts';
import { creditsOf } from './answers.ts';
import { boundsOf, periodOf } from './period.ts';
import type { PlanTerms } from './plan-terms.ts';
import type { BillingStore, Processing } from './store.ts';

interface DescriptionOptions {
  accounts: AccountsStore;
  billing: BillingStore;
  /** Makes every process store the runs that it has answered. */
  catchUp: () => Promise<void>;
  plan: (id: string) => PlanTerms & { storedAssets: number };
  /** The number of the account's assets. */
  storedAssets: (accountId: string) => Promise<number>;
  limits: AccountLimits;
  now: () => Date;
}

const UNLIMITED = -1;

/** The description of an account: its identity, its balance, and what its plan allows. */
export function createDescription(options: DescriptionOptions): (accountId: string) => Promise<Account> {
  const { accounts, billing, catchUp, plan, storedAssets, limits, now } = options;

  return async (accountId) => {
    await catchUp();
    const [account, money, stored] = await Promise.all([
      accounts.find(accountId),
      billing.find(accountId),
      storedAssets(accountId),
    ]);
    if (account === null || money === null) throw new Error(`The account ${accountId} is gone.`);
    const terms = plan(account.plan);
    const { _id: id, email, name, createdAt } = account;
    return {
      id,
      email,
      name,
      plan: account.plan,
      createdAt,
      credits: creditsOf(money),
      processing: processingOf(money.processing, terms, now()),
      assets: { limit: terms.storedAssets, stored, left: Math.max(0, terms.storedAssets - stored) },
      limits,
    };
  };
}

/** The count of the current month. The stored count may belong to an earlier month. */
function processingOf(processing: Processing, terms: PlanTerms, now: Date): Account['processing'] {
  const period = periodOf(now);
  const used = processing.period < period ? 0 : processing.used;
  const limit = terms.processLimit;
  const left = limit === UNLIMITED ? UNLIMITED : Math.max(0, limit - used);
  const { start, end } = boundsOf(period);
  return { limit, used, left, periodStart: start.toISOString(), periodEnd: end.toISOString() };
}

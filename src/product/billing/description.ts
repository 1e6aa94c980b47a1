import type { Account, AccountLimits } from '../accounts/schema.ts';
import type { AccountsStore } from '../accounts/store.ts';
import { billingPeriodBounds, billingPeriodOf, runsLeftIn, runsUsedIn } from './period.ts';
import type { Plan, PlanWithoutStorage } from './plans.ts';
import { accountCreditsOf } from './responses.ts';
import type { BillingStore, RunCount } from './store.ts';
import type { SyncRunCounter } from './sync-runs.ts';

interface DescriptionOptions {
  accounts: AccountsStore;
  billing: BillingStore;
  syncRuns: SyncRunCounter;
  plan: (id: string) => Plan;
  /** The number of the account's assets. */
  countAssets: (accountId: string) => Promise<number>;
  limits: AccountLimits;
  now: () => Date;
}

/** The description of an account: its identity, its balance, and what its plan allows. */
export function createAccountDescriber(options: DescriptionOptions): (accountId: string) => Promise<Account> {
  const { accounts, billing, syncRuns, plan, countAssets, limits, now } = options;

  return async (accountId) => {
    await syncRuns.catchUp();
    const [account, money, stored] = await Promise.all([
      accounts.find(accountId),
      billing.find(accountId),
      countAssets(accountId),
    ]);
    if (account === null || money === null) throw new Error(`The account ${accountId} is gone.`);
    const { _id: id, email, name, plan: planId, createdAt } = account;
    const terms = plan(planId);
    return {
      id,
      email,
      name,
      plan: planId,
      createdAt,
      credits: accountCreditsOf(money),
      processing: processingOf(money.processing, terms, now()),
      assets: { limit: terms.storedAssets, stored, left: Math.max(0, terms.storedAssets - stored) },
      limits,
    };
  };
}

/** The count of the current month. */
function processingOf(processing: RunCount, terms: PlanWithoutStorage, now: Date): Account['processing'] {
  const period = billingPeriodOf(now);
  const { start, end } = billingPeriodBounds(period);
  return {
    limit: terms.processLimit,
    used: runsUsedIn(period, processing),
    left: runsLeftIn(period, processing, terms),
    periodStart: start.toISOString(),
    periodEnd: end.toISOString(),
  };
}

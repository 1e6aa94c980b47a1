import type { FastifyInstance } from 'fastify';
import type { ProductSlice } from '../../platform/http/slice.ts';
import type { ProcessParts } from '../../platform/process-parts.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import type { Account, AccountLimits, WebhookTargets } from '../accounts/schema.ts';
import type { AccountsStore } from '../accounts/store.ts';
import { RunAllowance } from './allowance.ts';
import { JobHolds } from './holds.ts';
import { CreditMovements } from './movements.ts';
import { billingPeriodBounds, billingPeriodOf, type Plan, runsLeftIn, runsUsedIn } from './plans.ts';
import { accountCreditsOf, billingRoutes } from './routes.ts';
import { BillingStore, type RunCount } from './store.ts';
import { createSyncRunUsageSource, SyncRunCounter } from './sync-runs.ts';
import type { UsageSource } from './usage.ts';

interface BillingOptions extends Pick<ProcessParts, 'documents' | 'hostId' | 'processId' | 'now'> {
  gate: CallGate;
  accounts: AccountsStore;
  plan: (id: string) => Plan;
  /** The URL for adding credits. The error for insufficient credits contains it. */
  topUpUrl: () => string;
  /**
   * Returns the sources of usage in other slices. Synchronous calls are not among them. It is called whenever usage is
   * read.
   */
  usageSources: () => readonly UsageSource[];
  countAssets: (accountId: string) => Promise<number>;
  /** The limits of an account that do not depend on its plan. */
  limits: AccountLimits;
  /** The addresses that webhooks of this deployment may have. */
  webhooks: WebhookTargets;
  log: { error(context: object, message: string): void };
}

export interface BillingSlice extends ProductSlice {
  allowance: RunAllowance;
  holds: JobHolds;
  /** Describes an account: its identity, its balance, and what is left of its plan. */
  describe: (accountId: string) => Promise<Account>;
}

export function openBilling(options: BillingOptions): BillingSlice {
  const { documents, now, log } = options;
  const store = new BillingStore(documents);
  const movements = new CreditMovements(store, now);
  const syncRuns = new SyncRunCounter(store, now, (error) =>
    log.error({ err: error }, 'Usage could not be written'),
  );
  const parts = { ...options, store, movements, syncRuns, holder: `${options.hostId}/${options.processId}` };
  const allowance = new RunAllowance(parts);
  const holds = new JobHolds(parts);
  const usageSources = () => [createSyncRunUsageSource(store.usage), ...options.usageSources()];

  return {
    allowance,
    holds,
    describe: (accountId) => describeAccount(accountId, parts),
    async routes(app: FastifyInstance) {
      await app.register(billingRoutes, { ...parts, usageSources });
    },
    sweeps: [
      { name: 'usage by the hour', sweep: (instant) => store.usage.sweepHours(instant) },
      { name: 'usage by the day', sweep: (instant) => store.usage.sweepDays(instant) },
      { name: 'reservations', sweep: () => allowance.sweep() },
      { name: 'notes of runs', sweep: () => holds.sweep() },
    ],
    stop: () => syncRuns.end(),
  };
}

/** The description of an account: its identity, its balance, and what its plan allows. */
async function describeAccount(
  accountId: string,
  {
    accounts,
    store,
    syncRuns,
    plan,
    countAssets,
    limits,
    webhooks,
    now,
  }: BillingOptions & { store: BillingStore; syncRuns: SyncRunCounter },
): Promise<Account> {
  await syncRuns.catchUp();
  const [account, money, stored] = await Promise.all([
    accounts.find(accountId),
    store.find(accountId),
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
    processing: processingDataOf(money.processing, terms, now()),
    assets: { limit: terms.storedAssets, stored, left: Math.max(0, terms.storedAssets - stored) },
    limits,
    webhooks,
  };
}

/** The runs of an account in the current month, as the API shows them. */
function processingDataOf(processing: RunCount, terms: Plan, now: Date): Account['processing'] {
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

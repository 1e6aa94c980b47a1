import type { FastifyInstance } from 'fastify';
import type { ProductSlice } from '../../platform/http/slice.ts';
import type { DocumentStore } from '../../platform/stores/documents/port.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import type { Account, AccountLimits } from '../accounts/schema.ts';
import type { AccountsStore } from '../accounts/store.ts';
import { RunAllowance } from './allowance.ts';
import { createAccountDescriber } from './description.ts';
import { JobHolds } from './holds.ts';
import { CreditMovements } from './movements.ts';
import type { Plan } from './plans.ts';
import { billingRoutes } from './routes.ts';
import { BillingStore } from './store.ts';
import { createSyncUsageSource, SyncRunCounter } from './sync-runs.ts';
import type { UsageSource } from './usage.ts';

interface BillingOptions {
  documents: DocumentStore;
  gate: CallGate;
  accounts: AccountsStore;
  /** The plan of this id. */
  plan: (id: string) => Plan;
  /** The URL for adding credits, which a refusal for lack of credits names. */
  topUpUrl: () => string;
  /** The usage sources of other slices, besides the synchronous calls. It is called when usage is read. */
  usageSources: () => readonly UsageSource[];
  /** The number of an account's assets. */
  countAssets: (accountId: string) => Promise<number>;
  /** The limits of an account that do not depend on its plan. */
  limits: AccountLimits;
  now: () => Date;
  log: { error(context: object, message: string): void };
}

export interface BillingSlice extends ProductSlice {
  allowance: RunAllowance;
  holds: JobHolds;
  /** Describes an account: its identity, its balance, and what is left of its plan. */
  describe: (accountId: string) => Promise<Account>;
}

/** Opens billing: the credits of accounts, the ledger, and usage. */
export async function openBilling(options: BillingOptions): Promise<BillingSlice> {
  const { documents, gate, plan, topUpUrl, now, log } = options;
  const store = await BillingStore.open(documents);
  const movements = new CreditMovements(store, now);
  const syncRuns = new SyncRunCounter(store, now, (error) =>
    log.error({ err: error }, 'Usage could not be written'),
  );
  const allowance = new RunAllowance({ store, movements, syncRuns, plan, topUpUrl, now });
  const holds = new JobHolds({ store, movements, plan, topUpUrl, now });
  const usageSources = () => [createSyncUsageSource(store.usage), ...options.usageSources()];

  return {
    allowance,
    holds,
    describe: createAccountDescriber({ ...options, billing: store, syncRuns }),
    async routes(app: FastifyInstance) {
      await app.register(billingRoutes, { store, movements, syncRuns, usageSources, gate, now });
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

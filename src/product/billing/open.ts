import type { FastifyInstance } from 'fastify';
import type { Slice } from '../../platform/http/slice.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import type { Documents } from '../../platform/stores/documents/port.ts';
import type { Gate } from '../accounts/gate/gate.ts';
import type { Account, AccountLimits } from '../accounts/schema.ts';
import type { AccountsStore } from '../accounts/store.ts';
import { type Allowance, createAllowance } from './allowance.ts';
import { openCatchUp } from './catch-up.ts';
import { createDescription } from './description.ts';
import { createHolds, type Holds } from './holds.ts';
import { createMovements } from './movements.ts';
import type { Plan } from './plans.ts';
import { billingRoutes } from './routes.ts';
import { BillingStore } from './store.ts';
import { createSyncRuns } from './sync-runs.ts';
import { syncUsage } from './sync-usage.ts';
import type { UsageSource } from './usage.ts';

interface BillingOptions {
  documents: Documents;
  coordination: Coordination;
  gate: Gate;
  accounts: AccountsStore;
  /** The plan of this id. */
  plan: (id: string) => Plan;
  /** Where credits are added; part of the refusal for want of them. */
  topUpUrl: () => string;
  /** The usage that other slices count beside the synchronous calls. Asked when usage is read. */
  usageSources: () => readonly UsageSource[];
  /** How many assets an account keeps. */
  storedAssets: (accountId: string) => Promise<number>;
  /** The limits of an account that its plan does not change. */
  limits: AccountLimits;
  now: () => Date;
  log: { error(context: object, message: string): void };
}

export interface Billing extends Slice {
  allowance: Allowance;
  holds: Holds;
  /** Describes an account whole: who it is, what it has and what its plan leaves it. */
  describe: (accountId: string) => Promise<Account>;
}

/** The money of accounts, its movements, and their usage. */
export async function openBilling(options: BillingOptions): Promise<Billing> {
  const { documents, coordination, gate, plan, topUpUrl, now, log } = options;
  const store = await BillingStore.open(documents);
  const movements = createMovements(store, now);
  const syncRuns = createSyncRuns(store, now, (error) =>
    log.error({ err: error }, 'Usage could not be written'),
  );
  const { catchUp, close: stopCatchingUp } = await openCatchUp(coordination, syncRuns);
  const allowance = createAllowance({ store, movements, syncRuns, plan, topUpUrl, now });
  const holds = createHolds({ store, movements, plan, topUpUrl, now });
  const usageSources = () => [syncUsage(store.usage), ...options.usageSources()];

  return {
    allowance,
    holds,
    describe: createDescription({ ...options, billing: store, catchUp }),
    async routes(app: FastifyInstance) {
      await app.register(billingRoutes, { store, movements, catchUp, usageSources, gate, now });
    },
    sweeps: [
      { name: 'usage by the hour', sweep: (instant) => store.usage.sweepHours(instant) },
      { name: 'usage by the day', sweep: (instant) => store.usage.sweepDays(instant) },
      { name: 'reservations', sweep: () => allowance.sweep() },
      { name: 'notes of runs', sweep: () => holds.sweep() },
    ],
    async stop() {
      stopCatchingUp();
      await syncRuns.end();
    },
  };
}

import type { FastifyInstance } from 'fastify';
import type { ProductSlice } from '../../platform/http/slice.ts';
import type { ProcessParts } from '../../platform/process-parts.ts';
import { Authentication } from './authentication.ts';
import { CallGate, type GateSettings } from './gate/gate.ts';
import { accountRoutes, keyRoutes } from './routes.ts';
import type { Account } from './schema.ts';
import { SessionCookie } from './sign-in/cookie.ts';
import { sessionListRoutes, sessionRoutes } from './sign-in/routes.ts';
import { AccountsStore } from './store.ts';

interface AccountsOptions
  extends Pick<ProcessParts, 'documents' | 'coordination' | 'hostId' | 'processId' | 'publicUrl' | 'now'> {
  settings: GateSettings;
  /**
   * Describes an account as the API shows it. Billing supplies this function, because the description includes credits.
   */
  describe: (accountId: string) => Promise<Account>;
}

export interface AccountsSlice extends ProductSlice {
  /** The gate through which every request below /api passes. */
  gate: CallGate;
  store: AccountsStore;
}

export function openAccounts(options: AccountsOptions): AccountsSlice {
  const { coordination, describe, now } = options;
  const store = new AccountsStore(options.documents);
  const nowMs = () => now().getTime();
  const cookie = new SessionCookie(options.publicUrl);
  const authentication = new Authentication(store, cookie, nowMs);
  const gate = new CallGate({ ...options, authentication, now: nowMs });

  return {
    gate,
    store,
    async routes(app: FastifyInstance) {
      const parts = { store, gate, cookie, coordination, describe, now };
      await app.register(keyRoutes, parts);
      await app.register(sessionRoutes, parts);
      await app.register(sessionListRoutes, parts);
      await app.register(accountRoutes, parts);
    },
    sweeps: [{ name: 'sessions', sweep: (instant) => store.sweepSessions(instant) }],
  };
}

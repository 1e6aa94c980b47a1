import type { FastifyInstance } from 'fastify';
import { envelopeOf, pageOf, success } from '../../platform/http/envelope.ts';
import type { Gate } from '../accounts/gate/gate.ts';
import { Credits } from '../accounts/schema.ts';
import type { Movements } from './movements.ts';
import { creditsOf, entryOf } from './responses.ts';
import { LedgerEntry, LedgerQuery, Usage, UsageQuery } from './schema.ts';
import type { BillingStore } from './store.ts';
import { MAX_FLUSH_DELAY_MS, type SyncRuns } from './sync-runs.ts';
import { readUsage, readWindow, type UsageSource } from './usage.ts';

interface BillingRoutesOptions {
  store: BillingStore;
  movements: Movements;
  syncRuns: SyncRuns;
  /** Every kind of work that usage counts. */
  usageSources: () => readonly UsageSource[];
  gate: Gate;
  now: () => Date;
}

/** The routes of an account's balance, its ledger, and its usage. */
export async function billingRoutes(app: FastifyInstance, options: BillingRoutesOptions): Promise<void> {
  const { store, movements, syncRuns, usageSources, gate, now } = options;

  app.get(
    '/credits',
    {
      schema: {
        summary: 'Read the credits',
        description: 'The balance, and what running jobs hold of it.',
        response: { 200: envelopeOf(Credits) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      return success('Credits read.', creditsOf(await store.findCredits(accountId)));
    },
  );

  app.get<{ Querystring: LedgerQuery }>(
    '/credits/ledger',
    {
      schema: {
        summary: 'List the movements of credits',
        description: 'Newest first. Their credits always sum to the balance.',
        querystring: LedgerQuery,
        response: { 200: pageOf(LedgerEntry) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      await movements.writeOut(accountId);
      const { rows, meta } = await store.listRows(accountId, request.query);
      return success('Movements listed.', rows.map(entryOf), meta);
    },
  );

  app.get<{ Querystring: UsageQuery }>(
    '/usage',
    {
      schema: {
        summary: 'Read the usage of a window',
        description:
          'At most 366 days, by op, by API key or by day (UTC). Complete up to asOf; the synchronous calls of the last second may be missing.',
        querystring: UsageQuery,
        response: { 200: envelopeOf(Usage) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const instant = now();
      const window = readWindow(request.query, instant);
      await syncRuns.catchUp();
      const asOf = new Date(instant.getTime() - MAX_FLUSH_DELAY_MS).toISOString();
      return success('Usage read.', { ...(await readUsage(usageSources(), accountId, window)), asOf });
    },
  );
}

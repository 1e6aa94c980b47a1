import type { FastifyInstance } from 'fastify';
import { envelopeSchemaOf, pageSchemaOf, successEnvelope } from '../../platform/http/envelope.ts';
import { PageQuery, type PagingQuery } from '../../platform/http/lists.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import { AccountCredits } from '../accounts/schema.ts';
import type { AllowanceOptions } from './allowance.ts';
import { LedgerEntry, UsageQuery, UsageReport } from './schema.ts';
import { availableCreditsOf, type BillingAccount, type LedgerRow } from './store.ts';
import { MAX_FLUSH_DELAY_MS } from './sync-runs.ts';
import { parseUsageWindow, readUsage, type UsageSource } from './usage.ts';

interface BillingRoutesOptions extends Omit<AllowanceOptions, 'plan' | 'topUpUrl' | 'holder'> {
  /** The sources whose usage GET /usage sums. */
  usageSources: () => readonly UsageSource[];
  gate: CallGate;
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
        response: { 200: envelopeSchemaOf(AccountCredits) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      return successEnvelope('Credits read.', accountCreditsOf(await store.findCredits(accountId)));
    },
  );

  app.get<{ Querystring: PagingQuery }>(
    '/credits/ledger',
    {
      schema: {
        summary: 'List the movements of credits',
        description: 'Newest first. Their credits always sum to the balance.',
        querystring: PageQuery,
        response: { 200: pageSchemaOf(LedgerEntry) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      await movements.writeLastRow(accountId);
      const { rows, meta } = await store.listRows(accountId, request.query);
      return successEnvelope('Movements listed.', rows.map(ledgerEntryOf), meta);
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
        response: { 200: envelopeSchemaOf(UsageReport) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const instant = now();
      const window = parseUsageWindow(request.query, instant);
      await syncRuns.catchUp();
      const asOf = new Date(instant.getTime() - MAX_FLUSH_DELAY_MS).toISOString();
      const data = { ...(await readUsage(usageSources(), accountId, window)), asOf };
      return successEnvelope('Usage read.', data);
    },
  );
}

/** The credits of an account as the API shows them. */
export function accountCreditsOf(account: Pick<BillingAccount, 'balance' | 'held'>): AccountCredits {
  const { balance, held } = account;
  return { balance, held, available: availableCreditsOf({ balance, held }) };
}

function ledgerEntryOf(row: LedgerRow): LedgerEntry {
  const { _id: id, type, credits, held, balanceAfter, jobId, note, createdAt } = row;
  return { id, type, credits, held, balanceAfter, ...withoutAbsentFields({ jobId, note }), createdAt };
}

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COLLECTIONS } from '../src/host/collections.ts';
import { newId } from '../src/platform/ids/ids.ts';
import { EmbeddedCoordination } from '../src/platform/stores/coordination/embedded.ts';
import { RedisCoordination } from '../src/platform/stores/coordination/redis.ts';
import { openEmbeddedDocuments } from '../src/platform/stores/documents/embedded/actor.ts';
import { connectMongoDocuments } from '../src/platform/stores/documents/mongodb.ts';
import { ACCOUNTS_COLLECTION } from '../src/product/accounts/store.ts';
import { JobOutputQuota } from '../src/product/assets/quota.ts';
import { JobHolds } from '../src/product/billing/holds.ts';
import { CreditMovements } from '../src/product/billing/movements.ts';
import { type BillingAccount, BillingStore } from '../src/product/billing/store.ts';
import { type JobsContext, jobStoresOf } from '../src/product/jobs/context.ts';
import { JobLifecycle } from '../src/product/jobs/lifecycle.ts';
import type { JobOrder } from '../src/product/jobs/submit/order.ts';

const TEST_PLAN = {
  id: 'scale',
  processLimit: -1,
  overageCredits: null,
  retentionDays: 7,
  storedAssets: 1_000_000,
};
const POLL_MS = 10;

/**
 * Measures the job engine alone, in one process: claims, recorded outcomes and the end of a job whose work is a
 * function that returns at once.
 * @param servers URLs of a Redis and of a MongoDB database; absent: embedded stores.
 * @returns milliseconds of the submit, and from there to the end.
 */
export async function engineAlone(
  count: number,
  servers?: { redis: string; mongodb: string },
): Promise<{ submitMs: number; runMs: number }> {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-bench-'));
  const name = `bench-${newId('run')}`;
  const documents = servers
    ? connectMongoDocuments(servers.mongodb)
    : openEmbeddedDocuments(join(directory, 'documents.sqlite'));
  await Promise.all(COLLECTIONS.map((spec) => documents.prepare(spec)));
  const coordination = servers
    ? new RedisCoordination({ url: servers.redis, keyPrefix: `${name}:` })
    : new EmbeddedCoordination(documents, Date.now);
  const now = () => new Date();
  const store = new BillingStore(documents);
  const nothing = async () => undefined;
  const draining = new AbortController();
  const stores = jobStoresOf(documents, now);
  const context: JobsContext = {
    ...stores,
    ...{ coordination, now },
    holds: new JobHolds({
      ...{ store, now },
      movements: new CreditMovements(store, now),
      plan: () => TEST_PLAN,
      topUpUrl: () => '',
    }),
    assets: {
      quota: new JobOutputQuota(documents, now),
      outputs: { show: nothing, discard: nothing },
    } as unknown as JobsContext['assets'],
    objects: {} as JobsContext['objects'],
    events: { isWanted: async () => false, write: nothing },
    plan: () => TEST_PLAN,
    countAssets: async () => 0,
    topUpUrl: () => '',
    maxKeptBytes: 512 * 2 ** 20,
    owner: name,
    concurrency: { pixels: () => 1, batches: () => 1, pages: () => 1, models: () => 1 },
    maxClaimedItems: () => 1_000,
    onEnd: () => undefined,
    draining: draining.signal,
    log: { warn: () => undefined },
  };
  const lifecycle = await JobLifecycle.open(context, async () => ({
    outcome: {
      ...{ status: 'COMPLETED', output: '{}', durationMs: 0, runs: 1, credits: 0 },
      completedAt: now().toISOString(),
    },
  }));
  const accountId = newId('acc');
  const accounts = documents.collection<BillingAccount & { email: string }>(ACCOUNTS_COLLECTION);
  await accounts.insertOne({
    ...{ _id: accountId, email: accountId, plan: TEST_PLAN.id, balance: 0, held: 0, movement: null },
    processing: { period: '', used: 0, reservations: [] },
  });

  const startedMs = performance.now();
  const caller = { accountId, plan: TEST_PLAN.id, apiKeyId: null, sessionId: null };
  const { job } = await lifecycle.submit(caller, orderOf(count));
  const submittedMs = performance.now();
  while ((await stores.jobs.get(job._id))?.phase !== 'done') {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  const endedMs = performance.now();
  draining.abort();
  await lifecycle.stop();
  await coordination.close();
  await documents.close();
  await rm(directory, { recursive: true, force: true });
  return { submitMs: submittedMs - startedMs, runMs: endedMs - submittedMs };
}

function orderOf(count: number): JobOrder {
  return {
    head: {
      ...{ type: 'process', op: 'resize', model: null, collection: null },
      ...{ presetId: null, presetName: 'op:resize', presetVersion: null },
    },
    definition: {
      ...{ takes: 'assets', produces: 'json', count: 1, subjects: [], references: [] },
      variants: [{ parameters: {}, segments: [], credits: [] }],
    },
    totalItems: count,
    need: { runs: count, credits: 0 },
    maxOutputs: 0,
    iterateItems: () => Array.from({ length: count }, () => ({ assetId: null, variant: 0 })),
    warnings: [],
  };
}

// needs: service, redis, mongodb
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { randomDatabase } from '../../../../bench/services/mongodb.ts';
import { randomText } from '../../../../src/platform/ids/ids.ts';
import { connectMongoDocuments } from '../../../../src/platform/stores/documents/mongodb.ts';
import type { ItemDocument } from '../../../../src/product/jobs/job.ts';
import { allPages, type Client, retryingClient } from '../../../chaos/kills/client.ts';
import { FROZEN_MS, startRealHost } from '../../../chaos/kills/hosts.ts';
import { until } from '../../../support/whole-service.ts';

const { MONGODB_URL, REDIS_URL } = process.env;
const skip = MONGODB_URL === undefined || REDIS_URL === undefined ? 'there is no Redis or no MongoDB' : false;

const ITEMS = 40;
const CREDITS_AN_ITEM = 12;
/** Long enough for both hosts to have items in hand. */
const WAIT_MS = 2_000;

/** Two hosts on one database, and a look into its items. */
async function twoPrimaries(t: Test) {
  const database = randomDatabase(MONGODB_URL ?? '');
  const documents = connectMongoDocuments(database);
  t.teardown(() => documents.close());
  const settings = {
    ...{ REDIS_URL: REDIS_URL ?? '', REDIS_PREFIX: `primaries-${randomText(6)}`, MONGODB_URL: database },
    ...{ DATA_DIR: t.testdir(), PROCESSES: '1' },
    // One that stands still is left alone: that is for its leases to end.
    HANG_TIMEOUT_MS: '600000',
  };
  const hosts = [await startRealHost(t, settings), await startRealHost(t, settings)] as const;
  const client = retryingClient(() => hosts[0].url() ?? hosts[1].url(), hosts[0].key());
  const items = documents.collection<ItemDocument>({ name: 'jobItems', indexes: [] });
  const isShared = async () => {
    const claimed = await items.find({ queue: 'claimed' });
    return new Set(claimed.map(({ owner }) => owner?.split('/')[0])).size === 2;
  };
  return { hosts, client, isShared };
}

async function submitted(client: Client): Promise<string> {
  const create = { width: 32, height: 24, channels: 3, background: '#336699' } as const;
  const body = new Uint8Array(await sharp({ create }).png().toBuffer());
  const asset = (await client('/assets/upload', { body, type: 'image/png' })).json.data.id;
  const job = {
    ...{ op: 'edit', model: 'sandbox-image', prompt: `[sandbox:wait=${WAIT_MS}]` },
    assetIds: Array.from({ length: ITEMS }, () => asset),
  };
  return (await client('/jobs', { json: job })).json.data.id;
}

/** The job has ended well, with one asset an item, and is paid for once. */
async function isRight(t: Test, client: Client, jobId: string): Promise<void> {
  await until(async () => (await client(`/jobs/${jobId}?wait=10`)).json.data.status === 'COMPLETED');
  const items = await allPages(client, `/jobs/${jobId}/items`);
  const assets = await allPages(client, `/assets?jobId=${jobId}`);
  t.same(assets.map(({ id }) => id).sort(), items.map(({ resultAssetId }) => resultAssetId).sort());
  t.equal(assets.length, ITEMS);
  const ledger = await allPages(client, '/credits/ledger');
  const charges = ledger.filter((row) => row.jobId === jobId && row.type === 'charge');
  t.same(
    charges.map(({ credits }) => credits),
    [-ITEMS * CREDITS_AN_ITEM],
  );
  const { balance, held } = (await client('/credits')).json.data;
  t.same([held, ledger.reduce((sum, { credits }) => sum + credits, 0)], [0, balance]);
}

t.test(
  'two primaries share a job: one that stands still leaves it to the other, and changes nothing later',
  { skip },
  async (t) => {
    const { hosts, client, isShared } = await twoPrimaries(t);
    const [first] = hosts;

    const late = await submitted(client);
    await until(isShared);
    await first.freeze();
    await pause(FROZEN_MS);
    await isRight(t, client, late);
    await first.thaw();
    // It wakes up with items in its hand that the other one has settled.
    await pause(2 * WAIT_MS);
    await isRight(t, client, late);
  },
);

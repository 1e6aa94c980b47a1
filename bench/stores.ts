import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedDocuments } from '../src/platform/stores/documents/embedded/actor.ts';
import { connectMongoDocuments } from '../src/platform/stores/documents/mongodb.ts';
import type { CollectionSpec, DocumentStore } from '../src/platform/stores/documents/port.ts';
import { dropDatabase, randomDatabase, startMongo } from './services/mongodb.ts';
import { percentile, round, type SuiteResult, type SuiteRow } from './suite.ts';

const CALLS_IN_FLIGHT = [1, 8, 64];
const ACCOUNTS = 1_000;
const ROUND_MS = 3_000;

const METHOD_TEXT = [
  'Conditional updates of one document by its _id, of a thousand, each durable before it counts:',
  'what money and claims are made of. The MongoDB is the one that the tests run on; where that is the server in Java,',
  'it keeps nothing on disk.',
].join(' ');

export async function run(): Promise<SuiteResult> {
  const rows = [...(await measureEmbedded()), ...(await measureMongo())];
  console.table(rows);
  return { method: METHOD_TEXT, rows };
}

async function measureEmbedded(): Promise<SuiteRow[]> {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-bench-'));
  const documents = openEmbeddedDocuments(join(directory, 'documents.sqlite'));
  try {
    return await measure('embedded', documents);
  } finally {
    await documents.close();
    await rm(directory, { recursive: true, force: true });
  }
}

async function measureMongo(): Promise<SuiteRow[]> {
  const mongo = await startMongo();
  if (mongo === null) return [];
  const url = randomDatabase(mongo.url);
  const documents = connectMongoDocuments(url);
  try {
    return await measure('mongodb', documents);
  } finally {
    await documents.close();
    await dropDatabase(url);
    await mongo.stop();
  }
}

async function measure(store: string, documents: DocumentStore): Promise<SuiteRow[]> {
  const spec: CollectionSpec = {
    name: 'accounts',
    indexes: [
      { name: 'email', fields: [['email', 1]], unique: true },
      {
        name: 'plan',
        fields: [
          ['plan', 1],
          ['createdAt', 1],
        ],
      },
    ],
  };
  await documents.prepare(spec);
  const accounts = documents.collection<{ _id: string; [field: string]: unknown }>(spec);
  const createdAt = '2026-01-01T00:00:00.000Z';
  const filler = 'x'.repeat(500);
  await accounts.insertMany(
    Array.from({ length: ACCOUNTS }, (_, n) => ({
      _id: `account${n}`,
      email: `${n}@example.com`,
      plan: 'free',
      createdAt,
      filler,
      balance: 1e9,
    })),
  );
  let turn = 0;
  async function update(): Promise<void> {
    const _id = `account${turn++ % ACCOUNTS}`;
    const { modified } = await accounts.updateOne(
      { _id, balance: { $gte: 3 } },
      { $inc: { balance: -3 }, $set: { lastReference: `reference${turn}` } },
    );
    if (modified !== 1) throw new Error(`${store} did not update ${_id}.`);
  }

  const rows: SuiteRow[] = [];
  for (const inFlight of CALLS_IN_FLIGHT)
    rows.push({ store, inFlight, ...(await keepInFlight(inFlight, update)) });
  return rows;
}

/** Keeps a number of calls in flight for the duration of the round. */
async function keepInFlight(inFlight: number, call: () => Promise<void>) {
  const durationsMs: number[] = [];
  const startMs = performance.now();
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (performance.now() - startMs < ROUND_MS) {
        const callStartMs = performance.now();
        await call();
        durationsMs.push(performance.now() - callStartMs);
      }
    }),
  );
  const elapsedMs = performance.now() - startMs;
  return {
    updatesPerSecond: Math.round((durationsMs.length / elapsedMs) * 1_000),
    p50Ms: round(percentile(durationsMs, 0.5)),
    p99Ms: round(percentile(durationsMs, 0.99)),
  };
}

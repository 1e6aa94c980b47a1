// needs: documents, mongodb
import { MongoClient, MongoServerError } from 'mongodb';
import t from 'tap';
import type { ImageObject } from '../../../src/imaging/images/image-object.ts';
import { SqliteDatabase } from '../../../src/platform/stores/documents/embedded/database.ts';
import { declareTable } from '../../../src/platform/stores/documents/embedded/declare.ts';
import { filterCondition } from '../../../src/platform/stores/documents/embedded/filter-sql.ts';
import { tableShapeOf } from '../../../src/platform/stores/documents/embedded/shape.ts';
import { type AssetDocument, newAssetDocument } from '../../../src/product/assets/asset.ts';
import { hashBytesOf, similarHashFilters } from '../../../src/product/assets/likeness.ts';
import { ASSETS_COLLECTION, AssetsStore } from '../../../src/product/assets/store.ts';
import { hashDistance } from '../../../workers/image/facts/perceptual-hash.ts';
import { onEachStore } from '../billing/stores.ts';

const ROWS = 4_000;
const OWNERS = ['acc_a', 'acc_b'] as const;
const LABELS = { name: null, collection: null, origin: 'upload', jobId: null, itemIndex: null } as const;

/** Hashes from a fixed seed. */
function hashes() {
  let state = 2_463_534_242n;
  return () => {
    state ^= (state << 13n) & 0xffff_ffff_ffff_ffffn;
    state ^= state >> 7n;
    state ^= (state << 17n) & 0xffff_ffff_ffff_ffffn;
    return state.toString(16).padStart(16, '0');
  };
}

/** The hash with so many of its bits turned over, spread over all bytes. */
function turned(hash: string, bits: number): string {
  let value = BigInt(`0x${hash}`);
  for (let bit = 0; bit < bits; bit += 1) value ^= 1n << BigInt((bit * 9 + 5) % 64);
  return value.toString(16).padStart(16, '0');
}

/** An asset of which only its likeness matters. */
function assetOf(accountId: string, hash: string, at: number): AssetDocument {
  const begin = { ...LABELS, state: 'kept', objectKey: null, expiresAt: null } as const;
  const image = { perceptualHash: hash } as ImageObject;
  return {
    ...newAssetDocument(accountId, begin, new Date(at)),
    image,
    hashBytes: hashBytesOf(hash),
    status: 'DONE',
  };
}

function manyAssets(): AssetDocument[] {
  const nextHash = hashes();
  const random = Array.from({ length: ROWS }, (_, index) =>
    assetOf(OWNERS[index % 2] ?? OWNERS[0], nextHash(), index),
  );
  // Near copies of the first, of both accounts.
  const [first] = random;
  const hash = first?.image?.perceptualHash ?? '';
  const near = Array.from({ length: 10 }, (_, bits) =>
    OWNERS.map((owner) => assetOf(owner, turned(hash, bits), ROWS + bits)),
  );
  return [...random, ...near.flat()];
}

const hashOf = ({ image }: AssetDocument) => image?.perceptualHash ?? '';

onEachStore(t, 'among thousands the nearest are found, and none is missed', async (t, { documents, url }) => {
  const store = new AssetsStore(documents, () => new Date());
  const assets = manyAssets();
  const collection = documents.collection<AssetDocument>(ASSETS_COLLECTION);
  for (let start = 0; start < assets.length; start += 500)
    await collection.insertMany(assets.slice(start, start + 500));
  const [first] = assets;
  if (first === undefined) throw new Error('there are no assets');
  for (const distance of [0, 3, 6, 7]) {
    const found = await store.findSimilar(
      first,
      hashOf(first),
      distance,
      { perPage: 100 },
      async () => undefined,
    );
    const expected = assets
      .filter((other) => other.accountId === first.accountId && other._id !== first._id)
      .map((other) => ({ id: other._id, distance: hashDistance(hashOf(first), hashOf(other)) }))
      .filter((other) => other.distance <= distance);
    t.ok(expected.length > distance, `${expected.length} within ${distance}`);
    t.same(found.rows.map(({ _id }) => _id).sort(), expected.map(({ id }) => id).sort());
    t.same(
      found.rows.map((row) => row.distance),
      expected.map((other) => other.distance).sort((one, other) => one - other),
      'nearest first',
    );
  }
  const { accountId } = first;
  const compared = new Set<string>();
  for (const filter of similarHashFilters(hashOf(first)))
    for (const { _id } of await collection.find({ accountId, ...filter })) compared.add(_id);
  const far = assets.slice(1, ROWS).filter(({ _id }) => compared.has(_id));
  t.ok(far.length < ROWS / 400, `${far.length} assets that look different are compared`);
  await collection.updateOne({ _id: assets.at(-2)?._id ?? '' }, { $set: { state: 'leaving' } });
  const left = await store.findSimilar(first, hashOf(first), 7, {}, async () => undefined);
  t.notOk(
    left.rows.some(({ state }) => state !== 'kept'),
    'what is deleted is not found',
  );
  if (url === null) return;

  const client = new MongoClient(url);
  t.teardown(() => client.close());
  const inMongo = client.db().collection('assets');
  const known = (await inMongo.indexes()).map(({ name, key }) => [name, Object.keys(key)]);
  for (const [index, candidate] of similarHashFilters(hashOf(first)).entries()) {
    const name = `hash-b${index}`;
    t.same(
      known.find(([found]) => found === name),
      [name, ['accountId', 'state', `hashBytes.b${index}`, `hashBytes.b${index ^ 1}`]],
    );
    const filter = { accountId: first.accountId, ...candidate, state: 'kept' };
    const explained = await inMongo.find(filter).explain('executionStats').catch(unlessUnknown);
    if (explained === null) continue;
    const { queryPlanner, executionStats } = explained;
    t.match(
      JSON.stringify(queryPlanner.winningPlan),
      new RegExp(`"indexName":"hash-b[${index}${index ^ 1}]"`),
    );
    t.ok(executionStats.totalDocsExamined < ROWS / 40, `${executionStats.totalDocsExamined} are read`);
  }
});

/** A stand-in for MongoDB knows the indexes, but explains no plan. */
function unlessUnknown(error: unknown): null {
  if (error instanceof MongoServerError && /no such command/.test(error.message)) return null;
  throw error;
}

t.test('each search for candidates reads one index of the embedded store', (t) => {
  const database = new SqliteDatabase(':memory:');
  t.teardown(() => database.close());
  declareTable(database, ASSETS_COLLECTION);
  const shape = tableShapeOf(ASSETS_COLLECTION);
  for (const [index, candidates] of similarHashFilters('0123456789abcdef').entries()) {
    const { sql, params } = filterCondition({ accountId: 'acc_a', ...candidates, state: 'kept' }, shape);
    const plan = Array.from(
      database.iterate(`EXPLAIN QUERY PLAN SELECT body FROM assets WHERE ${sql}`, params),
      ({ detail }) => String(detail),
    ).join('; ');
    const bytes = [index, index ^ 1];
    t.match(plan, new RegExp(`USING INDEX assets\\.hash-b[${bytes.join('')}] `), plan);
    for (const byte of bytes) t.match(plan, `hashBytes.b${byte}=?`);
    t.notMatch(plan, /SCAN assets/);
  }
  t.end();
});

// needs: server, both stores
import sharp from 'sharp';
import t from 'tap';
import { selectJobAssets } from '../../../src/product/jobs/submit/checking.ts';
import { sharedServer } from '../../support/harness.ts';
import { ended, submit } from './jobs.ts';

const server = await sharedServer();
const { key } = await server.account({ credits: 100 });
const stranger = await server.account();

async function upload(
  of: string,
  collection: string,
  red: number,
): Promise<{ id: string; createdAt: string }> {
  const create = { width: 20, height: 10, channels: 3, background: { r: red, g: 1, b: 1 } } as const;
  const body = new Uint8Array(await sharp({ create }).png().toBuffer());
  const { json } = await server.call(`/assets/upload?collection=${collection}`, {
    key: of,
    body,
    type: 'image/png',
  });
  return json.data;
}

const [first, second, elsewhere, third] = [
  await upload(key, 'batch', 1),
  await upload(key, 'batch', 2),
  await upload(key, 'other', 3),
  await upload(key, 'batch', 4),
];
await upload(stranger.key, 'batch', 5);
// Reserved only, so it is not DONE.
await server.call('/assets', { key, json: { contentType: 'image/png', collection: 'batch' } });

const small = { op: 'resize', parameters: { width: 10 } };
const batch = [first.id, second.id, third.id];

async function inputsOf(from: object): Promise<string[]> {
  const { status, json } = await submit(server, key, { ...small, from });
  if (status !== 201) throw new Error(JSON.stringify(json));
  const job = await ended(server, key, json.data.id);
  return job.items.map(({ assetId }: { assetId: string }) => assetId);
}

t.test(
  'from takes the DONE images of a collection, oldest first, and a limit the oldest of them',
  async (t) => {
    t.same(await inputsOf({ collection: 'batch' }), batch);
    t.same(await inputsOf({ collection: 'batch', limit: 2 }), batch.slice(0, 2));
  },
);

t.test('from takes a window of time, with both ends', async (t) => {
  const window = { createdFrom: second.createdAt, createdTo: elsewhere.createdAt };
  t.same(await inputsOf(window), [second.id, elsewhere.id]);
  t.same(await inputsOf({ createdFrom: Date.parse(third.createdAt), collection: 'batch' }), [third.id]);
  t.same(await inputsOf({ createdTo: first.createdAt }), [first.id]);
  t.same(await inputsOf({ collection: 'batch', createdFrom: '1960-01-01', createdTo: '9999-12-31' }), batch);
});

t.test('a selection is priced by a dry run, and frozen at the submit', async (t) => {
  const body = { ...small, from: { collection: 'batch' } };
  const dry = await submit(server, key, body, '?dryRun=true');
  t.match([dry.status, dry.json.data.totalItems], [200, 3]);
  const variants = [{ name: 'a' }, { name: 'b', parameters: { width: 5 } }];
  const { json } = await submit(server, key, { ...body, variants, collection: 'batch' });
  t.equal(json.data.totalItems, 6, 'also where the results join the collection');
  const job = await ended(server, key, json.data.id);
  t.same(
    job.items.map(({ assetId }: { assetId: string }) => assetId),
    batch.flatMap((id) => [id, id]),
  );
});

t.test('a wrong selection is refused on the field at fault, alone and in a dry run', async (t) => {
  const cases: Array<[object, string, object?]> = [
    [{ from: { collection: 'batch' }, assetIds: [first.id] }, 'from'],
    [{ from: { collection: 'batch' }, assetIds: [] }, 'from'],
    [{ from: { collection: 'nothing' } }, 'from'],
    [{ from: { createdFrom: '2200-01-01' } }, 'from'],
    [{ from: { createdFrom: 'yesterday' } }, 'from.createdFrom'],
    [{ from: { createdTo: 'later' } }, 'from.createdTo'],
    [{ from: { collection: ' ' } }, 'from.collection'],
    [{ from: { limit: 0 } }, 'from.limit', { limit: 1 }],
    [{ from: { limit: 10_001 } }, 'from.limit', { limit: 10_000 }],
    [{ from: { colection: 'batch' } }, 'from.colection'],
    [{ from: 'batch' }, 'from'],
    [{ op: 'generate', prompt: 'A boat', parameters: {}, from: { collection: 'batch' } }, 'from'],
  ];
  for (const [body, param, details] of cases) {
    for (const query of ['', '?dryRun=true']) {
      const { status, json } = await submit(server, key, { ...small, ...body }, query);
      t.match([status, json.error?.param], [400, param], JSON.stringify([body, json]));
      if (details !== undefined) t.match(json.error.details, details);
    }
  }
  const counted = { ...small, from: { collection: 'batch' }, imageCount: 3 };
  t.equal((await submit(server, key, counted, '?dryRun=true')).json.error.param, 'imageCount');
});

t.test('a job with a collection in place of its images is told of from', async (t) => {
  const { status, json } = await submit(server, key, { ...small, collection: 'batch' });
  t.match([status, json.error.param], [400, 'assetIds']);
  t.match(json.error.message, /collection is where the results go.*from: \{"collection": "batch"\}/);
});

t.test('more than 10,000 images are refused without a limit, and as many are taken', async (t) => {
  const assets = (count: number) => ({
    selectDoneIds: async (_account: string, _selection: object, limit: number) =>
      Array.from({ length: Math.min(count, limit) }, (_, index) => `ast_${index}`),
  });
  t.equal((await selectJobAssets('acc_1', {}, assets(10_000))).length, 10_000);
  t.equal((await selectJobAssets('acc_1', { limit: 7 }, assets(20_000))).length, 7);
  await t.rejects(selectJobAssets('acc_1', {}, assets(10_001)), {
    code: 'invalid_param',
    param: 'from',
    details: { limit: 10_000 },
  });
});

// needs: server, both stores
import t from 'tap';
import { picture, sharedGallery, tally } from './gallery-harness.ts';

t.test('40 parallel uploads of the same bytes are one asset with one object and one place', async (t) => {
  const { newAccount, objects } = await sharedGallery();
  const { call, upload } = await newAccount();
  const bytes = await picture();
  const answers = await Promise.all(Array.from({ length: 40 }, () => upload(bytes)));
  t.same(tally(answers), { 200: 39, 201: 1 });
  t.equal(new Set(answers.map(({ json }) => json.data.id)).size, 1);
  t.equal((await call('/assets')).json.meta.total, 1);
  t.equal((await objects()).length, 1);
  t.equal((await call('/account')).json.data.assets.stored, 1);
});

t.test('equal bytes keep the name and the collection that they were first given', async (t) => {
  const { newAccount } = await sharedGallery();
  const { call, upload } = await newAccount();
  const bytes = await picture();
  const first = await upload(bytes, '?name=first&collection=one');
  const second = await upload(bytes, '?name=second&collection=two');
  t.same([second.status, second.json.data], [200, first.json.data]);
  t.equal(first.headers.get('x-service-warnings'), null);
  t.equal(second.headers.get('x-service-warnings'), 'no_effect:name,no_effect:collection', 'it says so');
  const same = await upload(bytes, '?collection=one');
  t.equal(same.headers.get('x-service-warnings'), null, 'a label that it has already is no loss');
  const collections = (await call('/collections')).json.data;
  t.same(
    collections.map(({ name, assets }: { name: string; assets: number }) => [name, assets]),
    [['one', 1]],
  );
});

t.test('an Idempotency-Key is ignored, and bytes that were deleted are a new asset', async (t) => {
  const { newAccount } = await sharedGallery();
  const { call, upload, stored } = await newAccount();
  const headers = { 'idempotency-key': 'one' };
  const bytes = await picture();
  const first = await call('/assets/upload', { body: bytes, type: 'image/png', headers });
  const second = await call('/assets/upload', { body: bytes, type: 'image/png', headers });
  t.same([first.status, second.status, second.headers.get('idempotency-replayed')], [201, 200, null]);
  await call(`/assets/${first.json.data.id}`, { method: 'DELETE' });
  const again = await upload(bytes);
  t.equal(again.status, 201);
  t.not(again.json.data.id, first.json.data.id);
  t.not(await stored(), again.json.data.id);
});

t.test('a reserved upload is never merged with equal bytes', async (t) => {
  const { newAccount } = await sharedGallery();
  const { reserved, upload } = await newAccount();
  const bytes = await picture();
  const [one, two] = [await reserved(), await reserved()];
  for (const { id, put } of [one, two]) {
    t.match(await put(bytes), { status: 200, json: { data: { id, status: 'DONE' } } });
  }
  const sent = await upload(bytes);
  t.equal(sent.status, 201);
  t.notOk([one.id, two.id].includes(sent.json.data.id));
});

t.test('two accounts with the same file have an asset each', async (t) => {
  const { newAccount, objects } = await sharedGallery();
  const [one, two] = [await newAccount(), await newAccount()];
  const bytes = await picture();
  const [first, second] = [await one.stored(bytes), await two.stored(bytes)];
  t.not(first, second);
  t.equal((await objects()).length, 2);
  t.equal((await one.call(`/assets/${first}`, { method: 'DELETE' })).status, 204);
  t.same((await two.call(`/assets/${second}/content`)).bytes, Buffer.from(bytes), 'the other is unharmed');
});

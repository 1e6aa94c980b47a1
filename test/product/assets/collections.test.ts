// needs: server, both stores
import t from 'tap';
import { ASSET_COLLECTIONS_COLLECTION } from '../../../src/product/assets/collections.ts';
import { picture, refused, sharedGallery } from './gallery-harness.ts';

t.test('a collection is made by its name, by an upload or by a reservation', async (t) => {
  const { newAccount, clock } = await sharedGallery();
  const { call, upload, reserved } = await newAccount();
  const made = await call('/collections', { json: { name: 'Zebras 🦓' } });
  const at = (ms: number) => new Date(ms).toISOString();
  const begun = clock.ms;
  t.equal(made.status, 201);
  t.same(made.json.data, { name: 'Zebras 🦓', assets: 0, updatedAt: at(begun) });
  clock.ms += 1000;
  await upload(await picture(), '?collection=Apes');
  await reserved({ collection: 'Bears' });
  const there = await call('/collections', { json: { name: 'Apes' } });
  t.same([there.status, there.json.data], [200, { name: 'Apes', assets: 1, updatedAt: at(begun + 1000) }]);
  clock.ms += 1000;
  await upload(await picture(), '?collection=Apes');
  const { json } = await call('/collections');
  t.same(json.data, [
    { name: 'Apes', assets: 2, updatedAt: at(begun + 2000) },
    { name: 'Bears', assets: 1, updatedAt: at(begun + 1000) },
    { name: 'Zebras 🦓', assets: 0, updatedAt: at(begun) },
  ]);
  t.notOk('meta' in json);
});

t.test('a name is 1 to 64 characters, with nothing invisible', async (t) => {
  const { newAccount } = await sharedGallery();
  const { call } = await newAccount();
  for (const name of ['', ' ', ' a', 'a ', 'a\nb', 'a\u007fb', '🦓'.repeat(65), 7, undefined]) {
    refused(
      t,
      await call('/collections', { json: { name } }),
      400,
      'invalid_param',
      'name',
      JSON.stringify(name),
    );
  }
  for (const name of ['a', 'a b/c?d', '🦓'.repeat(64)]) {
    t.equal((await call('/collections', { json: { name } })).status, 201);
    const path = `/collections/${encodeURIComponent(name)}`;
    t.equal((await call(path, { method: 'DELETE' })).status, 204, name);
  }
});

t.test('deleting a collection leaves its assets, without one', async (t) => {
  const { newAccount } = await sharedGallery();
  const { call, upload } = await newAccount();
  const stranger = await newAccount();
  const kept = (await upload(await picture(), '?collection=gone')).json.data.id;
  const other = (await upload(await picture(), '?collection=stays')).json.data.id;
  const theirs = (await stranger.upload(await picture(), '?collection=gone')).json.data.id;
  t.equal((await call('/collections/gone', { method: 'DELETE' })).status, 204);
  refused(t, await call('/collections/gone', { method: 'DELETE' }), 404, 'not_found', 'name');
  t.notOk('collection' in (await call(`/assets/${kept}`)).json.data);
  t.equal((await call(`/assets/${other}`)).json.data.collection, 'stays');
  t.equal((await stranger.call(`/assets/${theirs}`)).json.data.collection, 'gone');
  t.equal((await call('/assets?collection=gone')).json.meta.total, 0);
  const names = (await call('/collections')).json.data.map(({ name }: { name: string }) => name);
  t.same(names, ['stays']);
});

t.test('more collections than one reading are listed, each once', async (t) => {
  const { newAccount } = await sharedGallery();
  const { call } = await newAccount();
  const names = Array.from({ length: 230 }, (_, index) => `c${String(index).padStart(3, '0')}`);
  await Promise.all(names.map((name) => call('/collections', { json: { name } })));
  const { data } = (await call('/collections')).json;
  t.same(
    data.map(({ name }: { name: string }) => name),
    names,
  );
});

t.test('an account creates at most 10,000 collections', async (t) => {
  const { newAccount, server } = await sharedGallery();
  const { id, call } = await newAccount();
  const collections = server.stores.documents.collection(ASSET_COLLECTIONS_COLLECTION);
  for (let start = 0; start < 10_000; start += 1_000) {
    const rows = Array.from({ length: 1_000 }, (_, at) => ({
      ...{ _id: `${id}/${start + at}`, accountId: id },
      ...{ name: `c${start + at}`, updatedAt: new Date(0).toISOString() },
    }));
    await collections.insertMany(rows);
  }
  refused(t, await call('/collections', { json: { name: 'new' } }), 422, 'resource_limit_exceeded', 'name');
  t.equal((await call('/collections', { json: { name: 'c7' } })).status, 200, 'one that exists');
  t.equal((await call('/collections/c7', { method: 'DELETE' })).status, 204);
  t.equal((await call('/collections', { json: { name: 'new' } })).status, 201);
});

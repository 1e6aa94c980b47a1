// needs: server, both stores
import { once } from 'node:events';
import { connect } from 'node:net';
import t from 'tap';
import { type Bytes, eventually, picture, refused, sharedGallery } from './gallery-harness.ts';
import { leave } from './quota.ts';

const MEGABYTE = 1024 * 1024;

interface Row {
  id: string;
  name?: string;
}

/** A multipart body with these files, each named `file`. */
function formOf(files: readonly (readonly [name: string, bytes: Bytes])[]): FormData {
  const form = new FormData();
  for (const [name, bytes] of files) form.append('file', new Blob([bytes], { type: 'image/png' }), name);
  return form;
}

const noImage = new TextEncoder().encode('no image at all');

t.test('several files are an asset each, in their order, and a bad one leaves the others', async (t) => {
  const { newAccount, objects } = await sharedGallery();
  const { call } = await newAccount();
  const [one, two] = [await picture(), await picture('webp')];
  const form = formOf([
    ['one.png', one],
    ['bad.png', noImage],
    ['two.webp', two],
    ['one again.png', one],
  ]);
  form.append('collection', 'of the query alone');
  form.append('picture', new Blob([two]), 'of another name.png');
  const { status, json, headers } = await call('/assets/upload?collection=Winter', { body: form });
  t.equal(status, 201, JSON.stringify(json));
  t.equal(headers.get('location'), '/api/v1/assets');
  t.equal(
    headers.get('x-service-warnings'),
    'ignored_parameter:collection,ignored_parameter:picture',
    'what is not read is named',
  );
  const { assets, errors } = json.data;
  t.match(assets, [
    { status: 'DONE', name: 'one.png', collection: 'Winter', image: { format: 'png', width: 4 } },
    { name: 'two.webp', collection: 'Winter', image: { format: 'webp' } },
    { id: assets[0].id, name: 'one.png' },
  ]);
  t.equal(assets.length, 3);
  t.match(errors, [
    { index: 1, name: 'bad.png', error: { code: 'unsupported_format', param: 'file', retryable: false } },
  ]);
  t.equal(errors[0].error.requestId, headers.get('x-request-id'));
  t.equal((await objects()).length, 2, 'equal bytes are one asset');
  t.equal((await call('/account')).json.data.assets.stored, 2);
  const listed: Row[] = (await call('/assets?collection=Winter')).json.data;
  t.same(listed.map(({ name }) => name).sort(), ['one.png', 'two.webp']);
  const again = await call('/assets/upload?name=all', { body: form });
  t.same(
    [again.status, again.json.data.assets.map(({ id }: Row) => id)],
    [201, assets.map(({ id }: Row) => id)],
  );
});

t.test(
  'one file is answered as it always was, and several without an image by the first refusal',
  async (t) => {
    const { newAccount, objects } = await sharedGallery();
    const { call } = await newAccount();
    const one = await call('/assets/upload', { body: formOf([['one.png', await picture()]]) });
    t.match(one, { status: 201, json: { data: { name: 'one.png', status: 'DONE' } } });
    t.equal(one.headers.get('location'), `/api/v1/assets/${one.json.data.id}`);
    t.notOk('assets' in one.json.data);
    const files: [string, Bytes][] = [
      ['a.png', noImage],
      ['b.png', (await picture()).slice(0, 40)],
    ];
    const none = await call('/assets/upload', { body: formOf(files) });
    refused(t, none, 400, 'unsupported_format', 'file');
    t.equal((await objects()).length, 1);
  },
);

t.test('a file that is too large is refused alone', async (t) => {
  const { newAccount } = await sharedGallery();
  const { call } = await newAccount();
  const large = new Uint8Array(35 * MEGABYTE);
  large.set(await picture());
  const { status, json } = await call('/assets/upload', {
    body: formOf([
      ['large.png', large],
      ['small.png', await picture()],
    ]),
  });
  t.equal(status, 201, JSON.stringify(json));
  t.match(json.data.assets, [{ name: 'small.png' }]);
  t.match(json.data.errors, [
    { index: 0, name: 'large.png', error: { code: 'payload_too_large', details: { limit: 34 * MEGABYTE } } },
  ]);
});

t.test('as many of several files are stored as there are places', async (t) => {
  const { newAccount, server } = await sharedGallery();
  const { id, call } = await newAccount('free');
  await leave(server, id, 2);
  const files = await Promise.all(
    ['a', 'b', 'c', 'd'].map(async (name) => [`${name}.png`, await picture()] as const),
  );
  const { status, json } = await call('/assets/upload', { body: formOf(files) });
  t.equal(status, 201);
  t.same(
    json.data.assets.map(({ name }: Row) => name),
    ['a.png', 'b.png'],
  );
  t.match(json.data.errors, [
    { index: 2, error: { code: 'asset_count_exceeded', details: { left: 0 } } },
    { index: 3, error: { code: 'asset_count_exceeded' } },
  ]);
  refused(
    t,
    await call('/assets/upload', { body: formOf([['e.png', await picture()]]) }),
    422,
    'asset_count_exceeded',
  );
});

t.test('too many files, or parts, are refused by name and leave nothing', async (t) => {
  const { newAccount, objects } = await sharedGallery();
  const { call } = await newAccount();
  const bytes = await picture();
  const many = (count: number) =>
    formOf(Array.from({ length: count }, (_, index) => [`${index}.png`, bytes] as const));
  for (const count of [101, 10_000]) {
    const answer = await call('/assets/upload', { body: many(count) });
    refused(t, answer, 400, 'invalid_param', 'file', `${count} files`);
    t.match(answer.json.error, { message: /more than 100/, details: { limit: 100 } });
  }
  const fields = formOf([['a.png', bytes]]);
  for (let index = 0; index < 10_000; index += 1) fields.append(`field${index}`, 'x');
  refused(t, await call('/assets/upload', { body: fields }), 400, 'invalid_param', 'body', 'fields');
  const others = new FormData();
  for (let index = 0; index < 200; index += 1) others.append('picture', new Blob([bytes]), 'a.png');
  refused(t, await call('/assets/upload', { body: others }), 400, 'invalid_param', 'body', 'other files');
  t.same(await objects(), []);
  t.equal((await call('/account')).json.data.assets.stored, 0);
  const most = await call('/assets/upload', { body: many(100) });
  t.same([most.status, most.json.data.assets.length], [201, 100]);
  t.equal((await objects()).length, 1);
});

t.test('a body that breaks off behind its first file leaves nothing', async (t) => {
  const { newAccount, server, objects } = await sharedGallery();
  const { call } = await newAccount();
  const { key } = await server.account();
  const documents = server.stores.documents.collection({ name: 'assets', indexes: [] });
  const before = await documents.count({});
  const { port } = new URL(server.url);
  const head = `POST /api/v1/assets/upload HTTP/1.1\r\nhost: a\r\nauthorization: ApiKey ${key}\r\ncontent-type: multipart/form-data; boundary=x\r\ncontent-length: 1000000\r\n\r\n`;
  const part = '--x\r\ncontent-disposition: form-data; name="file"; filename="a.png"\r\n\r\n';
  const socket = connect(Number(port), '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(head + part);
  socket.write(await picture());
  socket.write(`\r\n${part}${'x'.repeat(100_000)}`);
  t.ok(await eventually(async () => (await documents.count({})) === before + 2), 'the second has begun');
  socket.destroy();
  t.ok(await eventually(async () => (await documents.count({})) === before), 'and nothing is left');
  t.same(await objects(), []);
  t.equal((await call('/account')).json.data.assets.stored, 0);
});

t.test('the tags of a file and its palette are answered where they are asked for', async (t) => {
  const { newAccount } = await sharedGallery();
  const { call, upload, reserved } = await newAccount();
  const bytes = await picture();
  const plain = await upload(bytes);
  t.same(
    [plain.status, 'metadata' in plain.json.data, 'palette' in plain.json.data.image],
    [201, false, false],
  );
  const read = await call(`/assets/${plain.json.data.id}`);
  t.type(read.json.data.metadata.png, 'object');
  const full = await upload(bytes, '?metadata=true&palette=3');
  const { palette, ...image } = full.json.data.image;
  t.same([full.status, { ...full.json.data, image }], [200, read.json.data], 'the asset as it is read');
  t.ok(palette.length >= 1 && palette.length <= 3, JSON.stringify(palette));
  const measured = await call('/images/metadata?palette=3', { body: bytes, type: 'image/png' });
  t.same(palette, measured.json.data.image.palette, 'as POST /images/metadata measures it');
  const form = formOf([
    ['a.png', await picture()],
    ['b.png', await picture()],
  ]);
  const several = await call('/assets/upload?metadata=true&palette=2', { body: form });
  for (const asset of several.json.data.assets) {
    t.type(asset.metadata.png, 'object');
    t.ok(asset.image.palette.length >= 1);
  }
  const { url, id } = await reserved();
  const { pathname, search } = new URL(url);
  const put = await call(`/${pathname}${search}&palette=2`, {
    method: 'PUT',
    body: await picture(),
    type: 'image/png',
  });
  t.match(put, { status: 200, json: { data: { id, image: { palette: [{ color: /^#/ }] } } } });
  t.notOk('metadata' in put.json.data);
  for (const value of ['1', '13', 'many', '2.5']) {
    refused(t, await upload(bytes, `?palette=${value}`), 400, 'invalid_param', 'palette', value);
    const refusal = await call(`/images/metadata?palette=${value}`, { body: bytes, type: 'image/png' });
    refused(t, refusal, 400, 'invalid_param', 'palette', value);
  }
  const listed: { image: object }[] = (await call('/assets')).json.data;
  t.notOk(
    listed.some(({ image }) => 'palette' in image),
    'it is not stored',
  );
});

// needs: server
import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import t from 'tap';
import { serve } from '../../platform/outbound/listener.ts';
import { eventually, openGallery, picture, refused, SVG, sharedGallery } from './gallery-harness.ts';

const MEGABYTE = 1024 * 1024;

t.test('raw bytes become an asset that tells what they are', async (t) => {
  const { newAccount } = await sharedGallery();
  const { call, upload } = await newAccount();
  const bytes = await picture();
  const answer = await upload(bytes, '?name=First&collection=Winter%20%E2%9D%84');
  t.equal(answer.status, 201);
  const { data } = answer.json;
  t.match(data, { status: 'DONE', origin: 'upload', name: 'First', collection: 'Winter ❄' });
  t.match(data.id, /^ast_[0-9A-Za-z]{16,}$/);
  t.match(data.image, {
    mimeType: 'image/png',
    format: 'png',
    width: 4,
    height: 4,
    bytes: bytes.length,
    sha1: createHash('sha1').update(bytes).digest('hex'),
  });
  for (const field of ['jobId', 'itemIndex', 'expiresAt']) t.notOk(field in data, field);
  const { metadata, ...read } = (await call(`/assets/${data.id}`)).json.data;
  t.same(read, data, 'read again, it is the same');
  t.type(metadata.png, 'object');
  const facts = await call('/images/metadata', { body: bytes, type: 'image/png' });
  t.same(facts.json.data.image, data.image, 'as POST /images/metadata tells it');
});

t.test('a multipart part, an SVG and a url become assets, named by their files', async (t) => {
  const png = await picture();
  const { url } = await serve(t, (request, response) =>
    response.end(request.url === '/page.html' ? '<html></html>' : png),
  );
  const { newAccount } = await openGallery(t, { settings: { OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' } });
  const { call } = await newAccount();

  const form = new FormData();
  form.set('note', 'not the image');
  form.set('file', new Blob([await picture('jpeg')], { type: 'image/jpeg' }), 'Grüße.jpg');
  const part = await call('/assets/upload', { body: form });
  t.match(part, { status: 201, json: { data: { name: 'Grüße.jpg', image: { format: 'jpeg' } } } });

  const drawing = await call('/assets/upload', { body: SVG, type: 'image/svg+xml' });
  t.match(drawing, { status: 201, json: { data: { image: { mimeType: 'image/svg+xml', width: 20 } } } });

  const fetched = await call('/assets/upload?name=mine', { json: { url: `${url}/a%20b.png` } });
  t.match(fetched, { status: 201, json: { data: { name: 'mine', image: { bytes: png.length } } } });
  const again = await call('/assets/upload', { json: { url: `${url}/other.png` } });
  t.match(again, { status: 200, json: { data: { id: fetched.json.data.id, name: 'mine' } } });
  const page = await call('/assets/upload', { json: { url: `${url}/page.html` } });
  refused(t, page, 400, 'unsupported_format', 'url');
});

t.test('what is no image, or not sent as one, is refused and leaves nothing', async (t) => {
  const { newAccount, objects } = await sharedGallery();
  const { call, upload } = await newAccount();
  const text = new TextEncoder().encode('no image at all');
  const whole = await picture();
  const form = new FormData();
  form.set('picture', new Blob([whole]), 'a.png');
  const bad = new FormData();
  bad.set('file', new Blob([text], { type: 'image/png' }), 'a.png');

  refused(t, await upload(text), 400, 'unsupported_format', 'file', 'text');
  refused(t, await upload(new Uint8Array(0)), 400, 'unsupported_format', 'file', 'nothing');
  refused(t, await upload(whole.slice(0, 40)), 400, 'unsupported_format', undefined, 'half');
  refused(t, await call('/assets/upload', { body: bad }), 400, 'unsupported_format', 'file', 'part');
  refused(t, await call('/assets/upload', { body: form }), 400, 'invalid_param', 'file');
  refused(t, await upload(whole, '', 'application/octet-stream'), 400, 'unsupported_format', 'file');
  refused(t, await upload(whole, '', 'text/plain'), 415, 'unsupported_media_type', 'Content-Type');
  const curl = await upload(whole, '', 'application/x-www-form-urlencoded');
  refused(t, curl, 415, 'unsupported_media_type', 'Content-Type');
  t.match(curl.json.error.message, /curl/);
  refused(t, await call('/assets/upload', { json: {} }), 400, 'invalid_param', 'url');
  refused(t, await call('/assets/upload', { json: { url: 7 } }), 400, 'invalid_param', 'url');
  const near = { url: 'http://127.0.0.1/a.png' };
  refused(t, await call('/assets/upload', { json: near }), 400, 'invalid_param', 'url');
  for (const collection of ['', ' a', 'a ', 'a\u0000', '❄'.repeat(65)]) {
    const answer = await upload(whole, `?collection=${encodeURIComponent(collection)}`);
    refused(t, answer, 400, 'invalid_param', 'collection', JSON.stringify(collection));
  }
  refused(t, await upload(whole, `?name=${'n'.repeat(256)}`), 400, 'invalid_param', 'name');

  t.same((await call('/assets')).json.data, []);
  t.same((await call('/collections')).json.data, []);
  t.same(await objects(), []);
  t.equal((await call('/account')).json.data.assets.stored, 0);
});

t.test('34 MB are taken and one byte more is not, whether announced or not', async (t) => {
  const { newAccount, objects } = await sharedGallery();
  const { call, upload } = await newAccount();
  const png = await picture();
  const largest = new Uint8Array(34 * MEGABYTE);
  largest.set(png);
  t.match(await upload(largest), { status: 201, json: { data: { image: { bytes: 34 * MEGABYTE } } } });
  const larger = new Uint8Array(34 * MEGABYTE + 1);
  larger.set(png);
  const refusal = await upload(larger);
  refused(t, refusal, 413, 'payload_too_large', 'file');
  t.same(refusal.json.error.details, { limit: 34 * MEGABYTE });
  const form = new FormData();
  form.set('file', new Blob([larger], { type: 'image/png' }), 'a.png');
  refused(t, await call('/assets/upload', { body: form }), 413, 'payload_too_large', 'body');
  t.equal((await objects()).length, 1);
});

t.test('an upload that breaks off leaves no object and no asset', async (t) => {
  const { server, objects, newAccount } = await openGallery(t);
  const { key } = await server.account();
  const { call } = await newAccount();
  const { port } = new URL(server.url);
  const documents = server.stores.documents.collection({ name: 'assets', indexes: [] });
  const heads = [
    'content-type: image/png\r\ncontent-length: 1000000',
    'content-type: multipart/form-data; boundary=x\r\ncontent-length: 1000000',
  ];
  const part = '--x\r\ncontent-disposition: form-data; name="file"; filename="a.png"\r\n\r\n';
  for (const [index, head] of heads.entries()) {
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => undefined);
    const first = `POST /api/v1/assets/upload HTTP/1.1\r\nhost: a\r\nauthorization: ApiKey ${key}\r\n${head}\r\n\r\n`;
    socket.write(first + (index === 1 ? part : '') + 'x'.repeat(100_000));
    t.ok(await eventually(async () => (await documents.count({})) === 1), 'it has begun');
    socket.destroy();
    t.ok(await eventually(async () => (await documents.count({})) === 0), 'and nothing is left');
  }
  t.same(await objects(), []);
  t.equal((await call('/account')).json.data.assets.stored, 0);
  t.notMatch(server.logged(), /"level":50/, 'it is nobody’s failure');
});

// needs: server, both stores
import t from 'tap';
import { picture, refused, sharedGallery, tally } from './gallery-harness.ts';

/** A ticket of a new account, and calls by its address without a credential. */
async function ticketOf(fields?: object) {
  const { newAccount, follow } = await sharedGallery();
  const { call } = await newAccount();
  const made = await call('/upload-tickets', fields === undefined ? { method: 'POST' } : { json: fields });
  const ticket = made.json.data;
  const send = (body: Uint8Array<ArrayBuffer> | FormData, url: string = ticket.url, type?: string) =>
    follow(url, { method: 'POST', body, ...(type !== undefined && { type }) });
  const asset = async () => (await call(`/assets/${ticket.assetId}`)).json.data;
  return { call, made, ticket, send, asset };
}

t.test('a ticket takes one image by POST without a credential, raw or as a part of a form', async (t) => {
  const { clock } = await sharedGallery();
  const { call, made, ticket, send, asset } = await ticketOf();
  t.same([made.status, made.headers.get('location')], [201, `/api/v1/assets/${ticket.assetId}`]);
  t.match(ticket, { method: 'POST', maxBytes: 34 * 1024 * 1024 });
  t.equal(Date.parse(ticket.expiresAt), clock.ms + 900_000);
  t.equal((await asset()).status, 'PENDING');
  const bytes = await picture();
  // The Content-Type that curl sends with --data-binary.
  const stored = await send(bytes, ticket.url, 'application/x-www-form-urlencoded');
  t.match(stored, { status: 200, json: { data: { id: ticket.assetId, status: 'DONE' } } });
  t.same((await call(`/assets/${ticket.assetId}/content`)).bytes, Buffer.from(bytes));

  const second = await ticketOf({ name: 'photo.png', collection: 'spring' });
  const form = new FormData();
  form.append('file', new Blob([bytes]), 'local.png');
  t.equal((await second.send(form)).status, 200);
  t.match(await second.asset(), { status: 'DONE', name: 'photo.png', collection: 'spring' });
});

t.test('an address that was altered, was used or has expired gets one answer', async (t) => {
  const { clock } = await sharedGallery();
  const body = await picture();
  const used = await ticketOf({ maxBytes: 1_000, contentTypes: ['image/png'] });
  const other = await ticketOf();
  t.equal((await used.send(body)).status, 200);
  const late = await ticketOf({ expiresInSeconds: 60 });
  const deleted = await ticketOf();
  await deleted.call(`/assets/${deleted.ticket.assetId}`, { method: 'DELETE' });
  const { url } = other.ticket;
  const altered = [
    used.ticket.url.replace('maxBytes=1000', 'maxBytes=9999'),
    used.ticket.url.replace('image/png', 'image/jpeg'),
    url.replace(other.ticket.assetId, late.ticket.assetId),
    url.replace(/owner=\w+/, 'owner=acc_000000000000000000000000'),
    url.replace(/expires=\d+/, 'expires=9999999999999'),
    url.replace(/.$/, (last: string) => (last === 'A' ? 'B' : 'A')),
    `${url}&maxBytes=1`,
    url.split('?')[0] ?? '',
  ];
  clock.ms += 60_000;
  const answers = [
    await used.send(body),
    await late.send(body),
    await deleted.send(body),
    ...(await Promise.all(altered.map((address) => other.send(body, address)))),
  ];
  for (const answer of answers) refused(t, answer, 404, 'not_found', 'ticket');
  t.equal(new Set(answers.map(({ json }) => json.error.message)).size, 1);
  t.equal((await other.send(body)).status, 200, 'none of them used the ticket');
});

t.test('no part of one limit of a ticket can be sent as a part of the other', async (t) => {
  const typed = await ticketOf({ contentTypes: ['image/png', 'image/jpeg'], maxBytes: 50 });
  const limits = 'contentTypes=image/png,image/jpeg&maxBytes=50';
  t.ok(typed.ticket.url.includes(limits));
  for (const shifted of [
    'contentTypes=image/png,image&maxBytes=jpeg/50',
    'contentTypes=image&maxBytes=png,image/jpeg/50',
  ]) {
    const answer = await typed.send(await picture(), typed.ticket.url.replace(limits, shifted));
    refused(t, answer, 404, 'not_found', 'ticket');
  }
  t.equal((await typed.asset()).status, 'PENDING');
});

t.test('of 20 racing uploads by one ticket one is stored', async (t) => {
  const { objects } = await sharedGallery();
  const { send } = await ticketOf();
  const pictures = await Promise.all(Array.from({ length: 20 }, () => picture()));
  const answers = await Promise.all(pictures.map((bytes) => send(bytes)));
  t.same(tally(answers), { 200: 1, 404: 19 });
  t.equal((await objects()).length, 1);
});

t.test('an upload beyond the bounds of its ticket is refused', async (t) => {
  const large = await ticketOf({ maxBytes: 50 });
  const bytes = await picture();
  refused(t, await large.send(bytes), 413, 'payload_too_large', 'file');
  const form = new FormData();
  form.append('file', new Blob([bytes]), 'local.png');
  refused(t, await large.send(form), 413, 'payload_too_large', 'file');
  t.equal((await large.asset()).status, 'PENDING', 'the ticket can be used again');

  const typed = await ticketOf({ contentTypes: ['image/jpeg', 'image/webp'] });
  const wrong = await typed.send(bytes);
  refused(t, wrong, 400, 'unsupported_format', 'file');
  t.same(wrong.json.error.details, { found: 'image/png', supported: ['image/jpeg', 'image/webp'] });
  t.equal((await typed.asset()).status, 'FAILED');
  const again = await ticketOf({ contentTypes: ['image/jpeg', 'image/webp'] });
  t.equal((await again.send(await picture('webp'))).status, 200);
});

t.test('a call of a ticket without bytes tells how to send them, and the ticket stays', async (t) => {
  const { send, asset } = await ticketOf();
  const empty = await send(new Uint8Array());
  refused(t, empty, 400, 'invalid_param', 'file');
  t.match(empty.json.error.message, /curl -F file=@photo\.jpg URL/);
  t.equal((await asset()).status, 'PENDING');
  t.equal((await send(await picture())).status, 200);
});

t.test('a request for a ticket is checked, and repeated under its Idempotency-Key', async (t) => {
  const { newAccount, server } = await sharedGallery();
  const { call } = await newAccount();
  const rows: Array<[param: string, json: unknown]> = [
    ['contentTypes', { contentTypes: [] }],
    ['contentTypes[0]', { contentTypes: ['text/html'] }],
    ['maxBytes', { maxBytes: 34 * 1024 * 1024 + 1 }],
    ['expiresInSeconds', { expiresInSeconds: 901 }],
    ['collection', { collection: ' ' }],
    ['url', { url: 'https://example.com/a.png' }],
  ];
  for (const [param, json] of rows)
    refused(t, await call('/upload-tickets', { json }), 400, 'invalid_param', param);
  const twice = { json: { maxBytes: 100 }, headers: { 'idempotency-key': 'once' } };
  const [first, second] = [await call('/upload-tickets', twice), await call('/upload-tickets', twice)];
  t.same(second.json, first.json);
  t.equal((await call('/assets')).json.meta.total, 1);
  refused(t, await server.call('/upload-tickets', { json: {} }), 401, 'unauthorized', 'Authorization');
});

t.test('a page of any origin may upload by a ticket', async (t) => {
  const { server } = await sharedGallery();
  const preflight = await server.call('/upload-tickets/ast_1?signature=x', { method: 'OPTIONS' });
  t.same([preflight.status, preflight.headers.get('access-control-allow-methods')], [204, 'POST']);
});

// needs: server
import t from 'tap';
import { sharedServer } from '../../support/harness.ts';
import { ended, submit, uploadPictures } from './jobs.ts';

const server = await sharedServer();
const account = await server.account({ credits: 1_000 });
const { key } = account;
const assetIds = await uploadPictures(server, account, 3);
const small = { op: 'resize', parameters: { width: 8 }, assetIds };

t.test('items=0 leaves the items of a job out, and a number shows as many', async (t) => {
  const submitted = await submit(server, key, small, '?items=0');
  t.equal(submitted.status, 201);
  t.notHas(submitted.json.data, 'items');
  t.match(submitted.json.data, { totalItems: 3, itemsTruncated: true, pipelines: Array });
  const { id } = submitted.json.data;
  await ended(server, key, id);
  const read = async (query: string) => (await server.call(`/jobs/${id}${query}`, { key })).json.data;
  t.notHas(await read('?items=0'), 'items');
  const two = await read('?items=2');
  t.same([two.items.map(({ index }: { index: number }) => index), two.itemsTruncated], [[0, 1], true]);
  const all = await read('');
  t.equal(all.items.length, 3);
  t.notHas(all, 'itemsTruncated');
  for (const items of ['-1', '101', 'none']) {
    const { status, json } = await server.call(`/jobs/${id}?items=${items}`, { key });
    t.match([status, json.error.param], [400, 'items'], items);
  }
});

t.test('a job with rows of megabytes shows its first 100 items, and all as a list', async (t) => {
  const items = Array.from({ length: 101 }, (_, index) => ({ title: `${index} ${'x'.repeat(75_000)}` }));
  const rows = { op: 'render_template', templateId: 'builtin-template-social-card', items };
  const { status, json } = await submit(server, key, rows);
  t.equal(status, 201);
  const { id } = json.data;
  await server.call(`/jobs/${id}/cancel`, { method: 'POST', key });
  for (const { data } of [json, (await server.call(`/jobs/${id}`, { key })).json]) {
    t.match(data, { totalItems: 101, itemsTruncated: true });
    t.equal(data.items.length, 100);
    t.same(data.parameters.items, items.slice(0, 100));
  }
  const few = (await server.call(`/jobs/${id}?items=21`, { key })).json.data;
  t.same(few.parameters.items, items.slice(0, 21), 'more than one part, and no more than was asked for');
  const list = (await server.call(`/jobs/${id}/items?perPage=100`, { key })).json;
  t.match(list, { success: true, meta: { total: 101, page: 0, perPage: 100, hasMore: true } });
  t.same(
    list.data.map(({ index }: { index: number }) => index),
    items.slice(0, 100).map((_, index) => index),
  );
});

t.test('a render leaves its rows out with its items', async (t) => {
  const rows = {
    op: 'render_template',
    templateId: 'builtin-template-social-card',
    items: [{ title: 'One' }],
  };
  const { status, json } = await submit(server, key, rows, '?items=0');
  t.equal(status, 201, JSON.stringify(json));
  t.notHas(json.data, 'items');
  t.notHas(json.data, 'parameters');
});

t.test('fields keeps these fields of each job, in every answer that has one', async (t) => {
  const wanted = ['id', 'outcome', 'status'];
  const query = '?fields=id,status,%20outcome';
  const submitted = await submit(server, key, small, query);
  t.same(Object.keys(submitted.json.data).sort(), ['id', 'status']);
  const { id } = submitted.json.data;
  await ended(server, key, id);
  const read = await server.call(`/jobs/${id}${query}`, { key });
  t.same(Object.keys(read.json.data).sort(), wanted);
  t.match(read.json.data, { id, status: 'COMPLETED', outcome: 'all' });
  const list = await server.call(`/jobs${query}&op=resize`, { key });
  t.ok(list.json.data.length >= 1);
  for (const row of list.json.data) t.same(Object.keys(row).sort(), wanted);
  t.type(list.json.meta.total, 'number');
  const mixed = await server.call(`/jobs/${id}?fields=items,pipelines&items=1`, { key });
  t.same(Object.keys(mixed.json.data).sort(), ['items', 'pipelines']);
  t.equal(mixed.json.data.items.length, 1);
});

t.test('cancel and resume answer in the view too', async (t) => {
  const slow = { op: 'edit', prompt: 'Blue [sandbox:wait=2000]', assetIds };
  const { json } = await submit(server, key, slow, '?fields=id');
  t.same(Object.keys(json.data), ['id']);
  const cancelled = await server.call(`/jobs/${json.data.id}/cancel?fields=status,totalItems`, {
    key,
    method: 'POST',
  });
  t.same(Object.keys(cancelled.json.data).sort(), ['status', 'totalItems']);

  const refused = await submit(server, key, { op: 'edit', prompt: '[sandbox:reject]', assetIds });
  await ended(server, key, refused.json.data.id);
  const path = `/jobs/${refused.json.data.id}/resume?fields=id,attemptNumber,notRetryableItems`;
  const resumed = await server.call(path, { key, method: 'POST' });
  t.equal(resumed.status, 201, JSON.stringify(resumed.json));
  t.match(resumed.json.data, { attemptNumber: 2, notRetryableItems: [0, 1, 2] });
  t.same(Object.keys(resumed.json.data).sort(), ['attemptNumber', 'id', 'notRetryableItems']);
});

t.test('a repeat of a submit that waited answers with the state of now, without the id too', async (t) => {
  const one = { ...small, assetIds: assetIds.slice(0, 1) };
  const headers = { 'idempotency-key': 'view-1' };
  const query = '?wait=30&fields=status&items=0';
  const first = await server.call(`/jobs${query}`, { key, json: one, headers });
  const again = await server.call(`/jobs${query}`, { key, json: one, headers });
  t.match([first.status, again.status], [200, 200]);
  t.equal(again.headers.get('idempotency-replayed'), 'true');
  t.same(again.json.data, { status: 'COMPLETED' });
});

t.test(
  'a name that no job has is refused with those that are allowed, and nothing is submitted',
  async (t) => {
    const before = (await server.call('/jobs', { key })).json.meta.total;
    const cases = [
      ['POST', '/jobs?fields=id,stats', 'stats', small],
      ['POST', '/jobs?fields=', '', small],
      ['GET', '/jobs?fields=items', 'items', undefined],
      ['GET', '/jobs?fields=ID', 'ID', undefined],
    ] as const;
    for (const [method, path, received, json] of cases) {
      const answer = await server.call(path, { key, method, ...(json && { json }) });
      t.match([answer.status, answer.json.error.param], [400, 'fields'], path);
      t.match(answer.json.error.details, { received, allowed: Array });
      t.ok(answer.json.error.details.allowed.includes('status'));
    }
    t.equal((await server.call('/jobs', { key })).json.meta.total, before);
  },
);

t.test(
  'what the sandbox makes is marked, in jobs, items, estimates and chains, and nothing else is',
  async (t) => {
    const edit = { op: 'edit', model: 'sandbox-image', prompt: 'Blue', assetIds };
    const { assetIds: _, ...step } = { ...edit };
    const chain = { steps: [{ op: 'resize', parameters: { width: 16 } }, step], assetIds };
    for (const body of [edit, chain]) {
      const dry = await submit(server, key, body, '?dryRun=true');
      t.match([dry.json.data.object, dry.json.data.sandbox], ['estimate', true]);
      t.match(dry.headers.get('x-service-warnings'), /(^|,)sandbox_model:sandbox-image(,|$)/);
      const { json, headers } = await submit(server, key, body);
      t.match(headers.get('x-service-warnings'), /sandbox_model:sandbox-image/);
      t.equal(json.data.sandbox, true);
      for (const item of json.data.items) t.equal(item.sandbox, true);
      const listed = await server.call('/jobs?fields=id,sandbox&perPage=1', { key });
      t.same(listed.json.data, [{ id: json.data.id, sandbox: true }]);
    }
    const plain = await submit(server, key, small);
    t.equal(plain.headers.get('x-service-warnings'), null);
    const [made] = (await ended(server, key, plain.json.data.id)).items;
    const bytes = await server.call(`/assets/${made.resultAssetId}/content`, { key });
    t.same([bytes.status, bytes.headers.get('x-service-warnings')], [200, null]);
    t.notHas(plain.json.data, 'sandbox');
    t.notHas(plain.json.data.items[0], 'sandbox');
    t.notHas((await submit(server, key, small, '?dryRun=true')).json.data, 'sandbox');
  },
);

t.test('what the sandbox made is marked wherever its bytes are read', async (t) => {
  const edit = { op: 'edit', model: 'sandbox-image', prompt: 'Blue' };
  const steps = [edit, { op: 'resize', parameters: { width: 16 } }];
  for (const body of [
    { ...edit, assetIds },
    { steps, assetIds },
  ]) {
    const job = await ended(server, key, (await submit(server, key, body)).json.data.id);
    const asset = `/assets/${job.items[0].resultAssetId}`;
    const { data: link } = (await server.call(`${asset}/link`, { key })).json;
    const { data: zip } = (await server.call(`/jobs/${job.id}/results/link`, { key })).json;
    const part = { key, headers: { range: 'bytes=0-7' } };
    const answers = [
      await server.call(asset, { key }),
      await server.call(`${asset}/content`, { key }),
      await server.call(`${asset}/content`, { ...part }),
      await server.call(`${asset}/content`, { key, method: 'HEAD' }),
      await fetch(link.url),
      await server.call(`/jobs/${job.id}/results.zip`, { key }),
      await fetch(zip.url),
    ];
    for (const { status, headers } of answers) {
      t.ok(status < 300);
      t.equal(headers.get('x-service-warnings'), 'sandbox_model:sandbox-image');
    }
  }
});

t.test('the header of a submit has every warning that is known by then', async (t) => {
  const steps = [
    { op: 'resize', parameters: { width: 64, height: 64, gravity: 'north' } },
    { op: 'convert', parameters: { format: 'png', quality: 50 } },
  ];
  const known = 'no_effect:quality,no_effect:gravity,did_you_mean:fit=cover';
  const dry = await submit(server, key, { steps, assetIds }, '?dryRun=true');
  t.equal(dry.headers.get('x-service-warnings'), known);
  const sent = await submit(server, key, { steps, assetIds });
  t.equal(sent.headers.get('x-service-warnings'), known);
  const variants = [{ parameters: { width: 8 } }, { parameters: { width: 8, gravity: 'north' } }];
  const several = await submit(server, key, { op: 'resize', variants, assetIds });
  t.equal(several.headers.get('x-service-warnings'), 'no_effect:gravity');
  const waited = await submit(server, key, {
    ...{ op: 'resize', parameters: { width: 9_000, gravity: 'north' } },
    ...{ assetIds: assetIds.slice(0, 1), wait: 30 },
  });
  t.match(waited.headers.get('x-service-warnings'), /^no_effect:gravity,not_enlarged/, 'the job has ended');
});

t.test('the models of the sandbox are marked in both lists', async (t) => {
  const isMarked = ({ id, sandbox }: { id: string; sandbox?: boolean }) =>
    sandbox === id.startsWith('sandbox-') || (sandbox === undefined && !id.startsWith('sandbox-'));
  const { json } = await server.call('/ai-models?mode=analyze', { key });
  const prices = (await server.call('/../pricing/image-models', {})).json;
  for (const models of [json.data, prices.data.models]) {
    t.ok(models.some(({ sandbox }: { sandbox?: boolean }) => sandbox === true));
    t.ok(models.every(isMarked));
  }
});

t.test('an item that is tried again tells how often it failed, and why', async (t) => {
  const prompt = '[sandbox:fail=1] [sandbox:wait=700]';
  const body = { op: 'generate', model: 'sandbox-image-draft', prompt };
  const { id } = (await submit(server, key, body)).json.data;
  const readItem = async () => (await server.call(`/jobs/${id}/items`, { key })).json.data[0];
  let item = await readItem();
  while (item.lastError === undefined && item.status !== 'COMPLETED') item = await readItem();
  t.match(item, { attempts: 1, lastError: { code: 'provider_unavailable', message: /\w/ } });
  t.notHas(item, 'errorCode', 'it has not failed');
  const [done] = (await ended(server, key, id)).items;
  t.equal(done.status, 'COMPLETED');
  t.notHas(done, 'lastError');
  t.notHas(done, 'attempts');
});

// needs: server
import sharp from 'sharp';
import t from 'tap';
import { type Answer, type CallOptions, sharedServer } from '../../support/harness.ts';
import { redSquare } from '../../support/images.ts';

const server = await sharedServer();
const { key } = await server.account();
const png = await redSquare();
const assetId: string = (await server.call('/assets/upload', { key, body: png, type: 'image/png' })).json.data
  .id;
const warned = ({ status, headers }: Answer) => [status, headers.get('x-service-warnings')];
const get = async (path: string) => warned(await server.call(path, { key }));
const transform = (query: string, options: CallOptions = {}) =>
  server.call(`/images/transform?${query}`, { key, body: png, type: 'image/png', ...options });

t.test('a value that was moved to its bounds is named', async (t) => {
  for (const path of ['/jobs', '/assets', '/templates', '/feedback', '/credits/ledger']) {
    t.same(await get(`${path}?perPage=1000`), [200, 'clamped:perPage'], path);
    t.same(await get(`${path}?perPage=0&page=-1`), [200, 'clamped:page,clamped:perPage'], path);
    t.same(await get(`${path}?perPage=100&page=0`), [200, null], path);
  }
  const json = { op: 'flip', assetIds: [assetId] };
  const waited = await server.call('/jobs?wait=120', { key, json });
  t.equal(waited.headers.get('x-service-warnings'), 'clamped:wait');
  t.same(await get(`/jobs/${waited.json.data.id}?wait=61`), [200, 'clamped:wait']);
  t.same(await get(`/jobs/${waited.json.data.id}?wait=60`), [200, null]);
  const inBody = await server.call('/jobs?dryRun=true', { key, json: { ...json, wait: 90 } });
  t.same(warned(inBody), [200, 'clamped:wait']);
  t.equal((await server.call('/jobs?perPage=x', { key })).status, 400, 'no number is refused as before');
});

t.test('a resize that aims without cutting off says so, and what was probably meant', async (t) => {
  const rows: Array<[query: string, warnings: string | null]> = [
    ['width=10&height=5&gravity=north', 'no_effect:gravity,did_you_mean:fit=cover'],
    ['width=10&height=5&gravity=attention&fit=inside', 'no_effect:gravity,did_you_mean:fit=cover'],
    ['width=10&height=5&focalX=0.2&focalY=0.3', 'no_effect:focalX,no_effect:focalY,did_you_mean:fit=cover'],
    ['width=10&height=5&focalX=0.2&fit=contain', 'no_effect:focalX,did_you_mean:fit=cover'],
    ['width=10&gravity=north', 'no_effect:gravity'],
    ['width=10&height=5&gravity=north&fit=cover', null],
    ['width=10&height=5&gravity=north&fit=contain', null],
    ['width=10&height=5&focalX=0.2&fit=cover', null],
    ['width=10&height=5', null],
  ];
  for (const [query, warnings] of rows) {
    const answer = await transform(`op=resize&${query}`);
    t.same(warned(answer), [200, warnings], query);
    t.same(warned(await transform(`op=resize&dryRun=true&${query}`)), [200, warnings], `${query}, foreseen`);
  }
  const { width, height } = await sharp(
    (await transform('op=resize&width=10&height=5&gravity=north')).bytes,
  ).metadata();
  t.same([width, height], [5, 5], 'it is done as before');
  const steps = [{ op: 'resize', parameters: { width: 9, height: 4, gravity: 'north' } }];
  const saved = await server.call('/presets', { key, json: { name: 'Aim', steps } });
  t.match(saved.json.data.warnings, [
    { code: 'no_effect', name: 'gravity', meant: { name: 'fit', value: 'cover' }, steps: [0] },
  ]);
});

t.test('an image of a type that the caller does not accept is sent with a warning', async (t) => {
  const accept = async (text: string) =>
    warned(await transform('op=resize&width=9', { headers: { accept: text } }));
  t.same(await accept('image/webp'), [200, 'no_effect:Accept,did_you_mean:format=webp']);
  t.same(await accept('image/avif,image/webp'), [200, 'no_effect:Accept,did_you_mean:format=avif']);
  for (const text of ['image/png', 'image/*', '*/*', 'image/webp, */*;q=0.5', 'application/json'])
    t.same(await accept(text), [200, null], text);
  const json = { html: '<hr>', width: 8, height: 8 };
  const drawn = await server.call('/images/render', { key, json, headers: { accept: 'image/jpeg' } });
  t.same(warned(drawn), [200, 'no_effect:Accept,did_you_mean:format=jpeg']);
});

t.test(
  'the answer of several outputs, and one picture beside an archive, are sent with the same warning',
  async (t) => {
    const outputs = JSON.stringify([
      { name: 'a', op: 'flip' },
      { name: 'b', op: 'resize', parameters: { width: 5 } },
    ]);
    const several = async (accept: string) => {
      const body = new FormData();
      body.append('outputs', outputs);
      body.append('file', new Blob([png]), 'a.png');
      return warned(
        await server.call('/images/transform', { method: 'POST', key, body, headers: { accept } }),
      );
    };
    for (const text of ['image/webp', 'image/*'])
      t.same(await several(text), [200, 'no_effect:Accept'], text);
    for (const text of ['multipart/mixed', 'application/zip', '*/*', 'application/json'])
      t.same(await several(text), [200, null], text);
    const alone = await transform('op=resize&width=9', { headers: { accept: 'application/zip' } });
    t.same(warned(alone), [200, 'no_effect:Accept']);
  },
);

t.test('a setting that the format of the result does not have does nothing, and says so', async (t) => {
  const rows: Array<[query: string, idle: string[]]> = [
    ['format=webp&chroma=4:4:4&colors=16', ['colors', 'chroma']],
    ['format=png&quality=80', ['quality']],
    ['format=png&quality=80&palette=true', []],
    ['format=avif&chroma=4:4:4&effort=1&quality=9', []],
    ['format=webp&palette=false&quality=70', []],
  ];
  for (const [query, idle] of rows) {
    for (const dry of ['', '&dryRun=true']) {
      const [status, warnings] = warned(await transform(`op=convert&${query}${dry}`));
      const found = String(warnings).matchAll(/no_effect:(\w+)/g);
      t.same([status, Array.from(found, ([, name]) => name)], [200, idle], query);
    }
  }
});

t.test('a query field that the body of the call has is refused', async (t) => {
  const rows: Array<[path: string, json: object, param: string]> = [
    ['/images/render?format=jpeg', { templateId: 'social-card' }, 'format'],
    ['/jobs?op=flip&dryRun=true', { op: 'flip', assetIds: [assetId] }, 'op'],
    ['/presets?name=a', { name: 'a', steps: [{ op: 'flip' }] }, 'name'],
    ['/webhook-endpoints?url=https://example.com', { url: 'https://example.com' }, 'url'],
  ];
  for (const [path, json, param] of rows) {
    const { status, json: answer } = await server.call(path, { key, json });
    t.match({ status, ...answer.error }, { status: 400, code: 'invalid_param', param }, path);
    t.match(answer.error.message, /is a field of the body of this call/, path);
  }
  const both = await server.call('/jobs?wait=0&dryRun=true', {
    key,
    json: { op: 'flip', assetIds: [assetId] },
  });
  t.equal(both.status, 200, 'wait is read in both');
});

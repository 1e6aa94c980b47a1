// needs: server, browser
import sharp from 'sharp';
import t from 'tap';
import { TOOLS } from '../../../src/product/mcp/protocol.ts';
import { sharedServer } from '../../support/harness.ts';
import { type Answered, call, connectedTo, photo, REVISIONS } from './client.ts';

const server = await sharedServer();
const { key } = await server.account({ credits: 1_000 });
const bytes = await photo();
const uploaded = await server.call('/assets/upload', { key, body: bytes, type: 'image/jpeg' });
const asset: string = uploaded.json.data.id;
const client = await connectedTo(t, server.url, key);

const followed = async (link: string) => Buffer.from(await (await fetch(link)).arrayBuffer());
const seen = async ({ pictures: [shown] }: Answered) => {
  const data = Buffer.from(shown?.data ?? '', 'base64');
  return { data, ...(await sharp(data).metadata()) };
};

for (const revision of REVISIONS) {
  t.test(`a client of ${revision} lists every tool and calls it`, async (t) => {
    const client = await connectedTo(t, server.url, key, revision);
    t.equal(client.getServerVersion()?.name, 'darkroom');
    t.match(client.getInstructions(), /ticket/);
    const { tools } = await client.listTools();
    t.same(
      tools.map(({ name }) => name),
      ['ops', 'run', 'look', 'facts', 'compare', 'render', 'job', 'presets', 'ticket'],
    );
    t.same(
      tools.map(({ name }) => name),
      TOOLS.map(({ definition }) => definition.name),
    );
    for (const { name, description = '', annotations, outputSchema } of tools) {
      t.ok(description.split(' ').length <= 40, `${name} is described in at most 40 words`);
      t.type(annotations?.readOnlyHint, 'boolean', name);
      t.equal(outputSchema?.type, 'object', name);
    }
    const step = { op: 'resize', parameters: { width: 300, format: 'png' } };
    const calls: Array<[name: string, args: Record<string, unknown>, shape: object]> = [
      ['ops', {}, { ops: Array }],
      ['run', { input: asset, steps: [step] }, { width: 300, height: 225, format: 'png', link: String }],
      ['look', { input: asset }, { width: 512, height: 384 }],
      ['facts', { input: asset }, { image: { width: 1_200, height: 900, format: 'jpeg' } }],
      ['compare', { input: asset, other: asset, ssimulacra2: true }, { ssim: 1, ssimulacra2: 100 }],
      ['render', { html: '<p>Hi</p>', width: 60, height: 30 }, { width: 60, height: 30, format: 'png' }],
      ['job', { action: 'submit', op: 'flip', inputs: [asset], dryRun: true }, { totalItems: 1 }],
      ['presets', { action: 'list' }, { presets: Array }],
      ['ticket', { maxBytes: 1_000 }, { asset: /^ast_/, url: /\/upload-tickets\// }],
    ];
    for (const [name, args, shape] of calls) {
      const answer = await call(client, name, args);
      t.notOk(answer.isError, `${name}: ${answer.text}`);
      t.match(answer.data, shape, name);
      t.notMatch(answer.text, /[A-Za-z0-9+/]{200}/, `${name} has no base64 as text`);
    }
  });
}

t.test('run makes what its steps say, and its link is an input of the next call', async (t) => {
  const steps = [
    { op: 'crop', parameters: { x: 600, y: 0, width: 600, height: 900 } },
    { op: 'resize', parameters: { width: 200, format: 'png' } },
  ];
  const first = await call(client, 'run', { input: asset, steps });
  const { data: pixels, info } = await sharp(await followed(first.data.link))
    .raw()
    .toBuffer({ resolveWithObject: true });
  t.same([info.width, info.height], [200, 300]);
  t.ok((pixels[0] ?? 0) > 150 && (pixels[2] ?? 255) < 80, 'the right half is red');
  const second = await call(client, 'run', {
    input: first.data.link,
    steps: [{ op: 'resize', parameters: { width: 50, format: 'webp' } }],
    save: true,
    preview: true,
  });
  t.match(second.data, { width: 50, height: 75, format: 'webp', asset: /^ast_/ });
  t.same((await sharp(await followed(second.data.link)).metadata()).width, 50);
  t.equal((await seen(second)).width, 50);
  const kept = await call(client, 'facts', {
    input: second.data.link,
    include: ['image', 'hashes', 'palette', 'link'],
  });
  t.match(kept.data, { image: { width: 50 }, hashes: { sha1: String }, link: String });
  t.match(kept.data.palette[0].color, /^#[0-9a-f]{6}$/);
  t.notOk('palette' in kept.data.image);
});

const SMALL = { op: 'resize', parameters: { width: 32 } };

t.test('run makes several outputs, or only checks and prices them', async (t) => {
  const outputs = [
    { name: 'small', steps: [SMALL] },
    { name: 'broken', steps: [{ op: 'crop', parameters: { x: 9_000, y: 0, width: 9, height: 9 } }] },
  ];
  const several = await call(client, 'run', { input: asset, outputs, preview: true });
  t.match(several.data.outputs, [
    { name: 'small', width: 32, link: String },
    { name: 'broken', error: { code: 'invalid_param' } },
  ]);
  t.equal((await seen(several)).width, 32);
  const before = (await server.call('/account', { key })).json.data.processing.used;
  const priced = await call(client, 'run', { input: asset, steps: [SMALL], dryRun: true });
  t.match(priced.data, { width: 32, height: 24, format: 'jpeg', price: 0, warnings: [] });
  t.notOk('link' in priced.data);
  const drawn = await call(client, 'render', { html: '<p>Hi', width: 60, height: 30, dryRun: true });
  t.match(drawn.data, { width: 60, height: 30, price: 0 });
  const preset = await call(client, 'run', { input: asset, preset: 'builtin-none' });
  t.match(preset, { isError: true, data: { error: { code: 'preset_not_found', param: 'preset' } } });
  t.equal((await server.call('/account', { key })).json.data.processing.used, before);
});

t.test('look shows an image or a region of it, within 512 px and 100 kB', async (t) => {
  const noise = new Uint8Array(
    await sharp(
      Buffer.from(
        Array.from({ length: 1_024 * 1_024 * 3 }, (_, i) => (i * 7_919 + (i >> 7) * 104_729) % 256),
      ),
      {
        raw: { width: 1_024, height: 1_024, channels: 3 },
      },
    )
      .png()
      .toBuffer(),
  );
  const { id } = (await server.call('/assets/upload', { key, body: noise, type: 'image/png' })).json.data;
  const whole = await call(client, 'look', { input: id });
  const shown = await seen(whole);
  t.same([shown.width, shown.height, shown.format], [512, 512, 'webp']);
  t.ok(shown.data.length <= 100_000, `${shown.data.length} bytes`);
  const region = { x: 590, y: 0, width: 20, height: 10 };
  const detail = await call(client, 'look', { input: asset, region, size: 64 });
  t.same(detail.data, { width: 64, height: 32 }, 'a small region is enlarged');
  const { data } = await sharp((await seen(detail)).data)
    .raw()
    .toBuffer({ resolveWithObject: true });
  t.ok((data[2] ?? 0) > 150, 'blue on the left');
  t.ok((data.at(-3) ?? 0) > 150, 'red on the right');
  const outside = await call(client, 'look', { input: asset, region: { ...region, x: 5_000 } });
  t.match(outside, { isError: true, data: { error: { code: 'invalid_param' } } });
});

t.test('a picture goes by ticket, without the key, and is the asset of the ticket', async (t) => {
  const made = await call(client, 'ticket', { name: 'photo.jpg', contentTypes: ['image/jpeg'] });
  const early = await call(client, 'facts', { input: made.data.asset });
  t.match(early, { isError: true, data: { error: { code: 'invalid_state', param: 'input' } } });
  const form = new FormData();
  form.append('file', new Blob([bytes]), 'photo.jpg');
  t.equal((await fetch(made.data.url, { method: 'POST', body: form })).status, 200);
  t.equal((await fetch(made.data.url, { method: 'POST', body: bytes })).status, 404, 'once');
  const facts = await call(client, 'facts', { input: made.data.asset, include: ['image', 'tags'] });
  t.match(facts.data, { image: { width: 1_200 }, tags: Object });
});

t.test('a job is submitted, read, cancelled and resumed', async (t) => {
  const submit = { action: 'submit', op: 'edit', prompt: 'Paint [sandbox:fail]', inputs: [asset] };
  const priced = await call(client, 'job', { ...submit, dryRun: true });
  t.match(priced.data, { totalItems: 1, credits: 12 });
  const tooDear = await call(client, 'job', { ...submit, maxCredits: 5 });
  t.match(tooDear.data.error, { code: 'insufficient_credit', details: { price: 12, maxCredits: 5 } });
  const waiting = { ...submit, prompt: 'Paint [sandbox:wait=60000]', key: 'once' };
  const started = await call(client, 'job', waiting);
  const again = await call(client, 'job', waiting);
  t.equal(again.data.id, started.data.id, 'one key makes one job');
  const cancelled = await call(client, 'job', { action: 'cancel', id: started.data.id });
  t.match(cancelled.data.status, /^CANCELL/);
  const done = await call(client, 'job', { ...submit, op: 'flip', prompt: undefined, wait: 30 });
  t.match(done.data, { status: 'COMPLETED', items: [{ index: 0, asset: /^ast_/ }] });
  const read = await call(client, 'job', { action: 'get', id: done.data.id, wait: 1 });
  t.equal(read.data.status, 'COMPLETED');
  const resumed = await call(client, 'job', { action: 'resume', id: done.data.id });
  t.match(resumed.data.error, { code: 'invalid_state' });
  for (const action of ['get', 'cancel', 'resume'])
    t.match((await call(client, 'job', { action })).data.error, { code: 'invalid_param', param: 'id' });
});

t.test('a job with long outputs shows the first items, and the path of the others', async (t) => {
  const long = { type: 'string', const: 'x'.repeat(30_000) };
  const required = ['a', 'b', 'c', 'd'];
  const properties = Object.fromEntries(required.map((name) => [name, { $ref: '#/$defs/long' }]));
  const submitted = await call(client, 'job', {
    ...{ action: 'submit', op: 'analyze', model: 'sandbox-vision', inputs: [asset, asset, asset, asset] },
    ...{ parameters: { schema: { type: 'object', properties, required, $defs: { long } } } },
  });
  const read = await call(client, 'job', { action: 'get', id: submitted.data.id, wait: 30 });
  const { items, moreItems, moreItemsAt } = read.data;
  t.match({ items, moreItems }, { items: [{ index: 0 }, { index: 1 }], moreItems: 2 });
  t.equal(items[1].output.b.length, 30_000, 'a shown output is complete');
  t.ok(read.text.length < 300_000, 'the text is as short');
  t.equal((await server.call(moreItemsAt.replace('/api/v1', ''), { key })).json.data.length, 4);
});

t.test('presets are saved, versioned, read and run', async (t) => {
  const steps = [{ op: 'thumbnail', parameters: { size: 40 } }];
  const saved = await call(client, 'presets', { action: 'save', name: 'Tiny', steps });
  t.same(saved.data, { preset: 'tiny', version: 1 });
  const changed = await call(client, 'presets', {
    action: 'save',
    preset: 'tiny',
    steps: [{ op: 'thumbnail', parameters: { size: 20 } }],
  });
  t.same(changed.data, { preset: 'tiny', version: 2 });
  t.match((await call(client, 'presets', { action: 'get', preset: 'tiny@1' })).data, { steps, version: 1 });
  t.match((await call(client, 'run', { input: asset, preset: 'tiny' })).data, { width: 20, height: 20 });
  t.ok((await call(client, 'presets', { action: 'list' })).data.presets.includes('tiny: thumbnail'));
});

t.test('a failure is the error of the interface, with the argument of the tool', async (t) => {
  const rows: Array<[name: string, args: Record<string, unknown>, error: object]> = [
    [
      'run',
      { input: 'ast_000000000000000000000000', steps: [{ op: 'flip' }] },
      { code: 'asset_not_found', param: 'input' },
    ],
    [
      'run',
      { input: asset, steps: [{ op: 'resize', width: 9 }] },
      { code: 'invalid_param', param: 'steps[0].width' },
    ],
    [
      'run',
      { input: asset, steps: [{ op: 'resize', parameters: { width: 0 } }] },
      { param: 'steps[0].parameters.width' },
    ],
    ['run', { input: asset }, { code: 'invalid_param' }],
    ['run', { input: './photo.jpg', steps: [{ op: 'flip' }] }, { code: 'invalid_param', param: 'input' }],
    [
      'run',
      { input: 'http://127.0.0.1:1/a.png', steps: [{ op: 'flip' }] },
      { code: 'invalid_param', param: 'input' },
    ],
    ['run', { steps: [] }, { code: 'invalid_param', param: 'input' }],
    [
      'run',
      { input: asset, steps: Array(13).fill({ op: 'flip' }) },
      { code: 'invalid_param', param: 'steps' },
    ],
    ['look', { input: asset, size: 2_000 }, { code: 'invalid_param', param: 'size' }],
    ['look', { input: `${server.url}/results/x?expires=1&signature=y` }, { code: 'forbidden' }],
    ['ops', { name: 'resise' }, { code: 'not_found', param: 'op' }],
    ['facts', { input: asset, include: ['faces'] }, { code: 'invalid_param', param: 'include[0]' }],
    ['compare', { input: asset, other: 'ast_000000000000000000000000' }, { param: 'other' }],
    [
      'run',
      { input: asset, steps: [{ op: 'resize', parameters: { width: '800px' } }] },
      { details: { fix: [{ param: 'steps[0].parameters.width', replace: 800 }] } },
    ],
    [
      'run',
      { input: asset, steps: [{ resize: { width: 9 } }] },
      {
        details: {
          fix: [
            { param: 'steps[0].resize', remove: true },
            { param: 'steps[0].op', add: 'resize' },
            { param: 'steps[0].parameters', add: { width: 9 } },
          ],
        },
      },
    ],
    [
      'run',
      { input: asset, op: 'resize', parameters: { width: 9 } },
      {
        details: {
          fix: [
            { param: 'op', remove: true },
            { param: 'parameters', remove: true },
            { param: 'steps', add: [{ op: 'resize', parameters: { width: 9 } }] },
          ],
        },
      },
    ],
    [
      'run',
      { image: asset, steps: '[{"op": "flip"}]' },
      {
        details: {
          fix: [
            { param: 'image', remove: true },
            { param: 'input', add: asset },
            { param: 'steps', replace: [{ op: 'flip' }] },
          ],
        },
      },
    ],
    [
      'job',
      { action: 'submit', inputs: [asset], steps: [{ flip: {} }], dryRun: true },
      {
        details: {
          fix: [
            { param: 'steps[0].flip', remove: true },
            { param: 'steps[0].op', add: 'flip' },
          ],
        },
      },
    ],
    ['render', { template: 'nothing' }, { code: 'not_found', param: 'template' }],
    ['presets', { action: 'get', preset: 'nothing' }, { code: 'preset_not_found', param: 'preset' }],
    ['ticket', { contentTypes: ['text/html'] }, { code: 'invalid_param', param: 'contentTypes[0]' }],
    ['job', { action: 'delete' }, { code: 'invalid_param', param: 'action' }],
  ];
  for (const [name, args, error] of rows) {
    const answer = await call(client, name, args);
    t.match(answer, { isError: true, data: { error } }, `${name} ${JSON.stringify(args)} ${answer.text}`);
    t.same(JSON.parse(answer.text), answer.data.error);
  }
});

t.test('another account meets its own limits, and nothing of others', async (t) => {
  const stranger = await server.account({ plan: 'free' });
  const theirs = await connectedTo(t, server.url, stranger.key);
  const { data } = await call(client, 'job', { action: 'submit', op: 'flip', inputs: [asset], wait: 30 });
  await call(client, 'presets', { action: 'save', name: 'Mine', steps: [{ op: 'flip' }] });
  const rows: Array<[name: string, args: Record<string, unknown>, code: string]> = [
    ['run', { input: asset, steps: [{ op: 'flip' }] }, 'asset_not_found'],
    ['look', { input: asset }, 'asset_not_found'],
    ['facts', { input: asset, include: ['link'] }, 'asset_not_found'],
    ['compare', { input: asset, other: asset }, 'asset_not_found'],
    ['job', { action: 'get', id: data.id }, 'job_not_found'],
    ['job', { action: 'cancel', id: data.id }, 'job_not_found'],
    ['job', { action: 'submit', op: 'flip', inputs: [asset] }, 'asset_not_found'],
    ['presets', { action: 'get', preset: 'mine' }, 'preset_not_found'],
    ['run', { input: asset, preset: 'mine' }, 'preset_not_found'],
  ];
  for (const [name, args, code] of rows) {
    const refused = await call(theirs, name, args);
    t.match(refused, { isError: true, data: { error: { code } } }, `${name} ${JSON.stringify(args)}`);
  }
  t.equal((await server.call('/account', { key: stranger.key })).json.data.processing.used, 0);
});

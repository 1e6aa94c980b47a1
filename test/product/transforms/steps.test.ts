// needs: server
import sharp from 'sharp';
import t from 'tap';
import { openCalls, pictureOf, pngOf, refusalOf } from './calls.ts';
import { filePart, type Part, sendParts } from './multipart.ts';

const png = await pngOf(
  sharp({ create: { width: 40, height: 20, channels: 3, background: '#c04020' } }).composite([
    { input: { create: { width: 20, height: 20, channels: 3, background: '#2040c0' } }, left: 0, top: 0 },
  ]),
);
const calls = await openCalls(t);
const resize = { op: 'resize', parameters: { width: 20 } };
const flip = { op: 'flip' };
const INVALID = { status: 400, code: 'invalid_param', retryable: false };

const field = (name: string, value: unknown): Part => ({
  name,
  value: typeof value === 'string' ? value : JSON.stringify(value),
});
const sent = (steps: unknown, query = '') => sendParts(calls, query, [field('steps', steps), filePart(png)]);

async function uploaded(): Promise<string> {
  const { server, key } = calls;
  return (await server.call('/assets/upload', { key, body: png, type: 'image/png' })).json.data.id;
}

t.test('steps of one call make the pixels of a preset with these steps, and count as one run', async (t) => {
  const { server, key } = calls;
  const steps = [resize, flip, { operation: 'greyscale' }];
  await server.call('/presets', { key, json: { name: 'Same', slug: 'same', steps } });
  const preset = await sendParts(calls, '?preset=same', [filePart(png)]);
  const answer = await sent(steps);
  t.equal(answer.status, 200, answer.bytes.toString('utf8', 0, 200));
  t.ok(answer.bytes.equals(preset.bytes));
  const json = { assetId: await uploaded(), steps };
  const stored = await server.call('/images/transform', { key, json });
  t.ok(stored.bytes.equals(preset.bytes), 'the JSON form');
  const { groups } = (await server.call('/usage', { key })).json.data;
  t.match(
    groups.find(({ key: name }: { key: string }) => name === 'steps'),
    { jobs: 0, sync: 2 },
  );
});

t.test('a width and a size in bytes are one call', async (t) => {
  const limit = 400;
  const noise = sharp({
    create: {
      ...{ width: 300, height: 200, channels: 3, background: '#777' },
      noise: { type: 'gaussian', mean: 128, sigma: 40 },
    },
  });
  const steps = [
    { op: 'resize', parameters: { width: 80 } },
    { op: 'compress', parameters: { maxBytes: limit, format: 'webp' } },
  ];
  const answer = await sendParts(calls, '', [field('steps', steps), filePart(await pngOf(noise))]);
  t.equal((await pictureOf(answer)).width, 80);
  t.ok(answer.bytes.length <= limit);
  t.match(answer.headers.get('x-service-quality'), /^\d+$/);
});

t.test('what is wrong within steps is named by its place', async (t) => {
  const rows: Array<[steps: unknown, param: string, says: RegExp]> = [
    [[], 'steps', /1 to 20 entries/],
    [Array(21).fill(flip), 'steps', /1 to 20 entries/],
    [{ op: 'flip' }, 'steps', /list/],
    ['[{', 'steps', /JSON list/],
    ["[{'op': 'flip'}]", 'steps', /double quotes/],
    [[resize, { op: 'resise' }], 'steps[1].op', /resise/],
    [[{ op: 'resize', width: 5 }], 'steps[0].width', /parameters of the step/],
    [[{ op: 'resize', parameters: { widht: 5 } }], 'steps[0].parameters.widht', /Did you mean width/],
    [[{ op: 'resize', parameters: { width: '5' } }], 'steps[0].parameters.width', /without quotes/],
    [[resize, { op: 'upscale' }], 'steps[1].op', /runs a model.*POST \/api\/v1\/jobs/],
    [
      [resize, { op: 'compare', parameters: { otherAssetId: 'ast_1' } }],
      'steps[1].op',
      /answers JSON.*POST \/api\/v1\/jobs/,
    ],
    [
      [flip, { op: 'crop', parameters: { x: 30, width: 20, height: 5 } }],
      'steps[1].parameters.width',
      /has 40/,
    ],
    [
      [flip, { operation: 'extract', params: { left: 30, top: 0, width: 20, height: 5 } }],
      'steps[1].params.width',
      /has 40/,
    ],
    [
      [resize, { op: 'convert', parameters: { format: 'webp', frame: 9 } }],
      'steps[1].parameters.frame',
      /frame/,
    ],
  ];
  for (const [steps, param, says] of rows) {
    const answer = await sent(steps);
    t.match(refusalOf(answer), { ...INVALID, param }, answer.json?.error?.message);
    t.match(answer.json?.error?.message, says);
  }
});

t.test('steps that are sent as a file are refused, and other files are skipped', async (t) => {
  const file = { name: 'steps', value: '[{"op":"flip"}]', filename: 'steps.json', type: 'application/json' };
  for (const query of ['', '?op=flip']) {
    const answer = await sendParts(calls, query, [file, filePart(png)]);
    t.match(refusalOf(answer), { ...INVALID, param: 'steps' });
    t.match(answer.json.error.message, /steps=<steps\.json/);
  }
  const beside = await sendParts(calls, '?op=flip', [{ ...file, name: 'notes' }, filePart(png)]);
  t.equal(beside.status, 200);
});

t.test('what stands beside steps is named, and steps in the query are led to the body', async (t) => {
  for (const [query, fields, param] of [
    ['?op=flip', [], 'op'],
    ['?preset=same', [], 'preset'],
    ['?format=webp', [], 'format'],
    ['', [field('width', '9')], 'width'],
    ['', [field('op', 'flip')], 'op'],
    ['', [field('parameters', '{}')], 'parameters'],
  ] as const) {
    const answer = await sendParts(calls, query, [...fields, field('steps', [flip]), filePart(png)]);
    t.match(refusalOf(answer), { ...INVALID, param }, query);
    t.match(answer.json.error.message, /may not accompany steps/);
  }
  const link = await sent([flip], '?response=url');
  t.match(link.json.data, { contentType: 'image/png', width: 40 });
  for (const query of ['?steps=[]', '?op=flip&steps=[]']) {
    for (const answer of [
      await sendParts(calls, query, [filePart(png)]),
      await calls.server.call(`/images/transform${query}`, { key: calls.key, body: png, type: 'image/png' }),
    ]) {
      t.match(refusalOf(answer), { ...INVALID, param: 'steps' });
      t.match(answer.json.error.message, /multipart field/);
    }
  }
});

t.test(
  'a step that does not fit the picture before it is refused on its own parameter, in every form',
  async (t) => {
    const { server, key } = calls;
    const outside = { operation: 'extract', params: { left: 20, width: 5, height: 5 } };
    const steps = [resize, { operation: 'blur', params: { sigma: 2 } }, outside];
    const answer = refusalOf(await sent(steps));
    t.match(answer, { ...INVALID, param: 'steps[2].params.left', details: { received: 20, limit: 19 } });
    const assetId = await uploaded();
    const stored = refusalOf(await server.call('/images/transform', { key, json: { assetId, steps } }));
    t.match(stored, { ...INVALID, param: 'steps[2].params.left', details: { received: 20, limit: 19 } });
    const job = refusalOf(await server.call('/jobs', { key, json: { assetIds: [assetId], steps } }));
    t.match(job, { ...INVALID, param: 'steps[2].params.left', details: { received: 20, limit: 19 } });
  },
);

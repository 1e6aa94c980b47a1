// needs: server
import t from 'tap';
import { preset, refused, start, uploaded } from './harness.ts';

const resize = { op: 'resize', parameters: { width: 100 } };
const edit = { op: 'edit', prompt: 'Warm light' };
const upscale = { op: 'upscale' };
const convert = (format: string, more: object = {}) => ({ op: 'convert', parameters: { format, ...more } });
const sepia = (parameters: object) => ({ op: 'sepia', parameters });

t.test('POST refuses a name, a slug and a list of steps that break their rules', async (t) => {
  const { call, create } = await start();
  await create({ slug: 'taken' });
  const rows: Array<[param: string, fields: object]> = [
    ['name', { name: undefined }],
    ['name', { name: ' ' }],
    ['name', { name: 7 }],
    ['steps', { steps: undefined }],
    ['steps', { steps: [] }],
    ['steps', { steps: 'resize' }],
    ['slug', { slug: 'Not A Slug' }],
    ['slug', { slug: '' }],
    ['slug', { slug: 'builtin-mine' }],
    ['slug', { slug: 'taken' }],
  ];
  for (const [param, fields] of rows) {
    const answer = await call('POST', '/presets', { ...preset, ...fields });
    refused(t, answer, 400, 'invalid_param', param, JSON.stringify(fields).slice(0, 80));
  }
  refused(t, await call('POST', '/presets', []), 400, 'invalid_param', 'body');
});

t.test('limits that protect the store are told, and are far from what a preset needs', async (t) => {
  const { call } = await start();
  const hint = (characters: number) => [{ ...upscale, parameters: { hint: 'x'.repeat(characters) } }];
  const rows: Array<[param: string, limit: number, fields: object]> = [
    ['name', 1_000, { name: 'x'.repeat(1_001) }],
    ['description', 10_000, { description: 'x'.repeat(10_001) }],
    ['slug', 1_000, { slug: 'x'.repeat(1_001) }],
    ['steps', 1_000, { steps: Array.from({ length: 1_001 }, () => resize) }],
    ['steps[0].parameters', 64 * 1024, { steps: hint(64 * 1024) }],
    ['steps', 512 * 1024, { steps: Array.from({ length: 9 }, () => hint(60 * 1024)).flat() }],
  ];
  for (const [param, limit, fields] of rows) {
    const answer = await call('POST', '/presets', { ...preset, ...fields });
    refused(t, answer, 400, 'invalid_param', param);
    t.equal(answer.json.error.details.limit, limit, param);
  }
  const prompts = Array.from({ length: 9 }, () => ({ ...edit, prompt: '漢'.repeat(8_000) }));
  for (const fields of [
    { name: 'x'.repeat(201) },
    { slug: 'x'.repeat(101) },
    { steps: Array.from({ length: 101 }, () => resize) },
    { steps: prompts },
  ]) {
    const answer = await call('POST', '/presets', { ...preset, ...fields });
    t.equal(answer.status, 201, answer.json.error?.message);
    t.match((await call('GET', `/presets/${answer.json.data.slug}`)).json.data, fields);
  }
});

t.test('a slug is lowercase letters, digits and hyphens, wherever the hyphens stand', async (t) => {
  const { call } = await start();
  for (const slug of ['a-', '-', 'a--b-', '-7']) {
    const answer = await call('POST', '/presets', { ...preset, slug });
    t.equal(answer.status, 201, slug);
    t.equal((await call('GET', `/presets/${slug}`)).json.data.id, answer.json.data.id);
  }
});

t.test('a filter that is none is told those that there are', async (t) => {
  const { call } = await start();
  const answer = await call('GET', '/presets?filter=x');
  refused(t, answer, 400, 'invalid_param', 'filter');
  t.match(answer.json.error, { message: /builtin, user/, details: { allowed: ['builtin', 'user'] } });
});

t.test("an asset that a step reads has to be the account's own", async (t) => {
  const { server, call } = await start();
  const strangers = await uploaded(server, (await server.account()).key);
  for (const assetId of ['ast_1', strangers]) {
    const rows: Array<[param: string, steps: unknown[]]> = [
      [
        'steps[1].parameters.layerAssetId',
        [resize, { op: 'overlay', parameters: { layerAssetId: assetId } }],
      ],
      ['steps[0].parameters.otherAssetId', [{ op: 'compare', parameters: { otherAssetId: assetId } }]],
      ['steps[0].params', [{ operation: 'composite', params: { layerAssetId: assetId } }, edit]],
      ['steps[1].params', [edit, { operation: 'joinChannel', params: { assetId } }]],
    ];
    for (const [param, steps] of rows) {
      const answer = await call('POST', '/presets', { ...preset, steps });
      refused(t, answer, 400, 'invalid_param', param);
      t.same(answer.json.error.details, { missing: [assetId] });
      const { json } = await call('POST', '/presets/import', [{ ...preset, steps }]);
      t.match(json.data.errors, [`[0] ${param}: `], param);
    }
  }
});

const STEPS: Array<[param: string, steps: unknown[]]> = [
  ['steps[0]', [{}]],
  ['steps[0]', ['resize']],
  ['steps[1]', [resize, { parameters: { width: 5 } }]],
  ['steps[1]', [resize, { ...resize, operation: 'greyscale' }]],
  ['steps[0].width', [{ op: 'resize', width: 100 }]],
  ['steps[1].op', [resize, { op: 'zoom' }]],
  ['steps[0].op', [{ op: 'constructor' }]],
  ['steps[0].op', [{ op: 5 }]],
  ['steps[0].op', [{ op: 'read_metadata' }]],
  ['steps[0].op', [{ op: 'render_template' }]],
  ['steps[0].op', [{ op: 'analyze' }, resize]],
  ['steps[1].op', [upscale, { op: 'analyze' }, upscale]],
  ['steps[0].op', [{ op: 'compare', parameters: { otherAssetId: 'ast_1' } }, resize]],
  ['steps[0].op', [{ op: 'generate', prompt: 'A boat' }, resize]],
  ['steps[1].op', [resize, { op: 'generate', prompt: 'A boat' }]],
  ['steps[1].parameters.width', [resize, { op: 'resize', parameters: { width: 0 } }]],
  ['steps[0].parameters.width', [{ op: 'resize' }]],
  ['steps[0].parameters.colour', [sepia({ colour: 'red' })]],
  ['steps[0].parameters.format', [{ op: 'convert', parameters: {} }]],
  ['steps[0].parameters', [{ op: 'sepia', parameters: 'none' }]],
  ['steps[0].parameters.schema', [{ op: 'analyze', parameters: { schema: 5 } }]],
  ['steps[0].parameters.frame', [sepia({ frame: 'all', format: 'jpeg' })]],
  ['steps[1].parameters.frame', [sepia({ frame: 0 }), sepia({ frame: 1 })]],
  ['steps[2].parameters.metadata', [sepia({ metadata: 'keep' }), resize, sepia({ metadata: 'strip' })]],
  ['steps[1].parameters.density', [sepia({ density: 72 }), sepia({ density: 300 })]],
  ['steps[0].parameters.frame', [sepia({ frame: 'all' }), convert('jpeg')]],
  ['steps[2].parameters.frame', [upscale, resize, sepia({ frame: 'all' }), convert('png')]],
  ['steps[0].parameters.lossless', [sepia({ lossless: true }), convert('jpeg')]],
  ['steps[0].model', [{ ...edit, model: 'no-such-model' }]],
  ['steps[0].model', [{ ...edit, model: 'sandbox-vision' }]],
  ['steps[0].model', [{ ...edit, model: 5 }]],
  ['steps[0].model', [{ ...resize, model: 'sandbox-image' }]],
  ['steps[0].model', [{ operation: 'greyscale', model: 'sandbox-image' }]],
  ['steps[0].prompt', [{ ...resize, prompt: 'Please' }]],
  ['steps[0].prompt', [{ operation: 'greyscale', prompt: 'Please' }]],
  ['steps[1].prompt', [resize, { op: 'edit' }]],
  ['steps[0].prompt', [{ ...edit, prompt: '' }]],
  ['steps[0].prompt', [{ ...edit, prompt: 'x'.repeat(32_001) }]],
  ['steps[0].prompt', [{ ...upscale, prompt: '' }]],
  ['steps[0].parameters.schema', [{ op: 'analyze', parameters: { schema: { $ref: '#/$defs/none' } } }]],
  ['steps[0].prompt', [{ ...edit, prompt: 'A portrait of {{subject.hero}}' }]],
  ['steps[1].operation', [resize, { operation: 'zoom' }]],
  ['steps[0].params', [{ operation: 'blur', params: { sigma: 0 } }]],
  ['steps[0].params', [{ operation: 'flip', params: [] }]],
  ['steps[0].params', [{ operation: 'resize', params: {} }]],
  ['steps[0].params', [{ ...resize, params: {} }]],
  ['steps[0].parameters', [{ operation: 'flip', parameters: {} }]],
  [
    'steps[1].params',
    [
      { operation: 'decode', params: { frame: 0 } },
      { operation: 'decode', params: { frame: 1 } },
    ],
  ],
];

t.test('POST names the step, field or parameter at fault', async (t) => {
  const { call } = await start();
  for (const [param, steps] of STEPS) {
    const answer = await call('POST', '/presets', { ...preset, steps });
    refused(t, answer, 400, 'invalid_param', param, JSON.stringify(steps).slice(0, 80));
  }
  t.same((await call('GET', '/presets?filter=user')).json.data, [], 'nothing was saved');
});

t.test('a model that does not fit is told those that do', async (t) => {
  const { call } = await start();
  const answer = await call('POST', '/presets', { ...preset, steps: [{ ...edit, model: 'sandbox-vision' }] });
  t.ok(answer.json.error.details.allowed.includes('sandbox-image'));
});

t.test('POST takes steps of both forms, AI steps alone, in chains and at the end', async (t) => {
  const { server, key, call } = await start();
  const assetId = await uploaded(server, key);
  const accepted: unknown[][] = [
    [{ operation: 'greyscale' }, { operation: 'webp', params: { quality: 50 } }],
    [resize, { operation: 'sharpen', params: { sigma: 1 } }, convert('webp')],
    [{ op: 'generate', prompt: 'A boat', model: 'sandbox-image-draft' }],
    [resize, edit, convert('webp'), upscale, sepia({})],
    [edit, { ...upscale, prompt: 'Sharper' }, { op: 'remove_background' }],
    [
      resize,
      {
        op: 'analyze',
        prompt: 'What is it?',
        parameters: { schema: { $ref: '#/$defs/a', $defs: { a: {} }, 'a.b': 1 } },
      },
    ],
    [resize, { op: 'compare', parameters: { otherAssetId: assetId } }],
    [{ op: 'overlay', parameters: { layerAssetId: assetId } }, edit],
    [{ ...upscale, parameters: { scale: 4, anything: ['as', 'sent'] } }],
    [sepia({ frame: 0 }), sepia({ frame: 0 })],
    [sepia({ frame: 0 }), upscale, sepia({ frame: 1 })],
    [sepia({ lossless: true, format: 'webp' }), convert('jpeg')],
  ];
  for (const steps of accepted) {
    const answer = await call('POST', '/presets', { ...preset, steps });
    t.equal(answer.status, 201, `${JSON.stringify(steps)} ${answer.json.error?.message}`);
    t.same((await call('GET', `/presets/${answer.json.data.id}`)).json.data.steps, steps);
  }
});

t.test('subjects are refused by the one name of their field', async (t) => {
  const { call } = await start();
  const hero = { name: 'hero', referenceAssetIds: ['ast_1'], descriptor: 'A tall woman in red' };
  const named = (name: string) => ({ ...hero, name });
  const rows: Array<[why: string, subjects: unknown, steps?: unknown[]]> = [
    ['five subjects', ['a', 'b', 'c', 'd', 'e'].map(named)],
    ['five images in one', [{ ...hero, referenceAssetIds: ['a', 'b', 'c', 'd', 'e'] }]],
    [
      'five images across',
      [
        { ...hero, referenceAssetIds: ['a', 'b', 'c'] },
        { ...named('b'), referenceAssetIds: ['d', 'e'] },
      ],
    ],
    ['no image', [{ ...hero, referenceAssetIds: [] }]],
    ['no list of images', [{ name: 'hero' }]],
    ['an image that is no text', [{ ...hero, referenceAssetIds: [5] }]],
    ["an image that is not the caller's", [hero]],
    ['a bad name', [named('Hero')]],
    ['a name that begins badly', [named('-hero')]],
    ['a name of 41 characters', [named('x'.repeat(41))]],
    ['no name', [{ referenceAssetIds: ['ast_1'] }]],
    ['a repeated name', [hero, hero]],
    ['a descriptor of 301 characters', [{ ...hero, descriptor: 'x'.repeat(301) }]],
    ['a descriptor that is no text', [{ ...hero, descriptor: 5 }]],
    ['no generate or edit step', [hero], [upscale]],
    ['something that is no subject', [null]],
    ['something that is no list', 'hero'],
  ];
  for (const [why, subjects, steps = [edit]] of rows) {
    const answer = await call('POST', '/presets', { ...preset, steps, subjects });
    refused(t, answer, 400, 'invalid_param', 'subjects', why);
  }
});

t.test('a prompt is refused that its descriptors make too long for a model', async (t) => {
  const { call } = await start();
  const hero = { name: 'hero', referenceAssetIds: ['ast_1'], descriptor: 'x'.repeat(300) };
  const steps = [{ ...edit, prompt: '{{subject.hero}}'.repeat(200) }];
  const answer = await call('POST', '/presets', { ...preset, steps, subjects: [hero] });
  refused(t, answer, 400, 'invalid_param', 'steps[0].prompt');
  t.match(answer.json.error.details, { limit: 32_000, received: 60_000 });
});

t.test('import refuses a body that is no list with entries', async (t) => {
  const { call } = await start();
  for (const body of [[], {}, 'text', null]) {
    const answer = await call('POST', '/presets/import', body);
    refused(t, answer, 400, 'invalid_param', 'body', JSON.stringify(body));
  }
});

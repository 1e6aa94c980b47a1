// needs: server
import sharp from 'sharp';
import t from 'tap';
import { ERROR_CODES } from '../../../src/platform/http/errors/errors.ts';
import { type Answer, type CallOptions, sharedServer } from '../../support/harness.ts';
import { redSquare } from '../../support/images.ts';
import { formOf } from './mistake.ts';

const server = await sharedServer();
const { key } = await server.account();
const png = await redSquare();
const image = { body: png, type: 'image/png' };
const assetId: string = (await server.call('/assets/upload', { key, ...image })).json.data.id;
type Mistake = [what: string, path: string, options: CallOptions, param: string | undefined, says: RegExp];

/** What people send, the field that the refusal names, and the way out that its sentence shows. */
const MISTAKES: Mistake[] = [
  [
    'a template by another name',
    '/images/render',
    { json: { template: 'a' } },
    'template',
    /not a field here: name the template in templateId/,
  ],
  [
    'the html under another name',
    '/templates',
    { json: { name: 'a', body: '<p>a</p>', width: 8, height: 8 } },
    'html',
    /body was sent, which is not a field here/,
  ],
  ['no kind', '/feedback', { json: { message: 'a' } }, 'kind', /capability_gap, bug, other/],
  ['no url', '/webhook-endpoints', { json: {} }, 'url', /https on port 443/],
  [
    'one asset as text',
    '/jobs',
    { json: { op: 'flip', assetIds: 'ast_1' } },
    'assetIds',
    /Send a list of one: \["ast_1"\]/,
  ],
  ['urls of a job', '/jobs', { json: { op: 'flip', urls: [] } }, 'urls', /POST \/api\/v1\/assets\/upload/],
  ['dryRun in a body', '/jobs', { json: { op: 'flip', dryRun: true } }, 'dryRun', /\?dryRun=true/],
  [
    'dryRun in a body of a resume',
    '/jobs/job_1/resume',
    { json: { dryRun: true } },
    'dryRun',
    /\?dryRun=true/,
  ],
  ['params', '/jobs', { json: { op: 'flip', params: {} } }, 'params', /Did you mean parameters\?/],
  ['n pictures', '/jobs', { json: { op: 'generate', prompt: 'a', n: 2 } }, 'n', /is count/],
  ['a callback', '/jobs', { json: { op: 'flip', webhookUrl: 'x' } }, 'webhookUrl', /webhook-endpoints/],
  ['ops in a list', '/images/transform?op=resize,flip', image, 'op', /Several ops are steps/],
  ['an op of a job', '/images/transform?op=upscale', image, 'op', /POST \/api\/v1\/jobs\): send it there/],
  [
    'a parameter of another op',
    '/images/transform?op=resize&sigma=2',
    image,
    'sigma',
    /send several ops as steps/,
  ],
  ['half a rectangle', '/images/transform?op=crop&x=1', image, 'width', /width and height are missing/],
  [
    'a region outside',
    '/images/transform?op=redact&regions=[{"x":900,"y":1,"width":2,"height":2}]',
    image,
    'regions',
    /regions\[0\] begins at 900, 1, .*make x less than \d+/,
  ],
  ['an op for the metadata', '/images/metadata', { json: { assetId, op: 'flip' } }, 'op', /reads one image/],
  [
    'a field for the metadata',
    '/images/metadata',
    formOf({ file: [png], fields: 'exif' }),
    'fields',
    /reads one image/,
  ],
  [
    'two files of one name',
    '/images/compare',
    formOf({ file: [png, png] }),
    'file',
    /name the second one "other"/,
  ],
  [
    'two files of one name where one is taken',
    '/images/transform?op=flip',
    formOf({ file: [png, png] }),
    'file',
    /send one image per call/,
  ],
  [
    'a format of renders that is none',
    '/images/render',
    { json: { templateId: 'builtin-template-quote', format: 'gif' } },
    'format',
    /one of png, jpeg, webp, avif/,
  ],
];

t.test('a mistake is answered with its field and the way out', async (t) => {
  for (const [what, path, options, param, says] of MISTAKES) {
    const { status, json } = await server.call(path, { method: 'POST', key, ...options });
    t.same([status, json?.error?.code, json?.error?.param], [400, 'invalid_param', param], what);
    t.match(json?.error?.message, says, what);
  }
});

t.test('a credential of another scheme names the scheme, and nothing of what follows', async (t) => {
  const answered = async (authorization: string) =>
    (await server.call('/account', { headers: { authorization } })).json.error;
  const basic = await answered('Basic c2VjcmV0Og==');
  t.match(basic, { code: 'unauthorized', param: 'Authorization' });
  t.match(basic.message, /scheme Basic are not supported: send "Authorization: ApiKey <API_KEY>"/);
  t.notMatch(basic.message, /c2Vj/);
  for (const header of ['ApiKey', 'Bearer', 'c2VjcmV0', `ApiKey ${key} ${key}`])
    t.match(
      (await answered(header)).message,
      /no credential that can be read|not accepted|are not supported/,
      header,
    );
});

t.test('a path that is not served names what is served beside or below it', async (t) => {
  const rows: Array<[method: string, path: string, status: number, says: RegExp]> = [
    ['POST', '/images/resize', 404, /Did you mean POST \/api\/v1\/images\/transform\?op=resize\?$/],
    [
      'POST',
      '/images/nothing',
      404,
      /Below \/api\/v1\/images there are transform, compare, read-text, read-codes, metadata, render\.$/,
    ],
    ['POST', '/images/tranform', 404, /Did you mean POST \/api\/v1\/images\/transform\?/],
    ['GET', '/jobs/job_1/zip', 404, /Did you mean GET \/api\/v1\/jobs\/\{jobId\}\/results\.zip\?/],
    ['GET', '/jobs/job_1/result.zip', 404, /Did you mean GET \/api\/v1\/jobs\/\{jobId\}\/results\.zip\?/],
    ['DELETE', '/jobs/job_1', 405, /use GET or HEAD\. There are also POST \/api\/v1\/jobs\/job_1\/cancel/],
    ['DELETE', '/credits', 405, /use GET or HEAD\.$/],
  ];
  for (const [method, path, status, says] of rows) {
    const answer = await server.call(path, { method, key });
    t.equal(answer.status, status, path);
    t.match(answer.json.error.message, says, path);
  }
});

t.test('no answer proposes to delete something', async (t) => {
  const rows: [method: string, path: string, suggest?: string[]][] = [
    ['GET', '/api-keys/self'],
    ['PUT', '/collections/spring'],
    ['POST', '/signing-keys/sgk_1'],
    ['PATCH', '/assets/ast_1', ['PUT /api/v1/assets/ast_1/content', 'GET /api/v1/assets/ast_1']],
  ];
  for (const [method, path, suggest] of rows) {
    const { json } = await server.call(path, { method, key });
    const { allowed, ...aid } = json.error.details;
    t.ok(allowed.includes('DELETE'), path);
    t.strictSame(aid, suggest === undefined ? {} : { suggest }, path);
  }
});

t.test('a version that is not there says which are', async (t) => {
  const json = { name: 'Tag', slug: 'tag', html: '<p>a</p>', width: 8, height: 8 };
  await server.call('/templates', { key, json });
  await server.call('/templates/tag', { method: 'PUT', key, json: { name: 'Tags' } });
  const template = await server.call('/images/render', { key, json: { templateId: 'tag@9' } });
  t.match(template.json.error, { code: 'not_found', param: 'templateId', details: { current: 2 } });
  t.match(template.json.error.message, /current one is 2/);
  await server.call('/presets', { key, json: { name: 'Tag', slug: 'tag', steps: [{ op: 'flip' }] } });
  await server.call('/presets/tag', { method: 'PUT', key, json: { steps: [{ op: 'negate' }] } });
  const preset = await server.call('/images/transform?preset=tag@9', { key, ...image });
  t.match(preset.json.error, { code: 'preset_not_found', param: 'preset', details: { allowed: [1, 2] } });
  t.match(preset.json.error.message, /it has 1, 2/);
  const unknown = await server.call('/images/render', { key, json: { templateId: 'nothing@9' } });
  t.match(unknown.json.error.message, /No template of this account/);
});

t.test('a render takes a format by its usual names', async (t) => {
  const rows: Array<[format: string, type: string]> = [
    ['jpg', 'image/jpeg'],
    ['image/webp', 'image/webp'],
    ['PNG', 'image/png'],
  ];
  for (const [format, type] of rows) {
    const json = { templateId: 'builtin-template-quote', data: { quote: 'a' }, format };
    const { status, headers } = await server.call('/images/render', { key, json });
    t.same([status, headers.get('content-type')], [200, type], format);
  }
});

t.test('a comparison of animations says that it looked at their first frames', async (t) => {
  const animation = async (colours: string[]) => {
    const frames = await Promise.all(
      colours.map((background) =>
        sharp({ create: { width: 8, height: 8, channels: 3, background } })
          .png()
          .toBuffer(),
      ),
    );
    return new Uint8Array(
      await sharp(frames, { join: { animated: true } })
        .gif()
        .toBuffer(),
    );
  };
  const [one, other] = [await animation(['red', 'lime']), await animation(['red', 'blue'])];
  const compared = (answer: Answer) => [answer.json?.data?.ssim, answer.headers.get('x-service-warnings')];
  const compare = async (parts: Record<string, Uint8Array<ArrayBuffer>[]>) =>
    compared(await server.call('/images/compare', { key, ...formOf(parts) }));
  t.same(await compare({ file: [one], other: [other] }), [1, 'first_frame_compared']);
  t.same(await compare({ file: [png], other: [png] }), [1, null]);
});

t.test('the page of errors says of every code what to do about it', async (t) => {
  const page = (await server.call('//docs/errors.md')).bytes.toString();
  for (const [code, { status, retryable }] of Object.entries(ERROR_CODES))
    t.match(
      page,
      new RegExp(
        `\\| \\[${code}\\]\\(/docs/errors/${code}\\.md\\) \\| ${status} \\| ${retryable ? 'yes' : 'no'} \\| \\S.{10,}\\. \\|`,
      ),
      code,
    );
  const guidelines = (await server.call('//docs/guidelines.md')).bytes.toString();
  t.notMatch(guidelines, /[^.]\.\. /, 'no sentence ends twice');
});

t.test('a field of a preset or template that is not read is named', async (t) => {
  const warned = (answer: Answer) => [answer.status, answer.headers.get('x-service-warnings')];
  const made = await server.call('/templates', {
    key,
    json: { name: 'Odd', slug: 'odd', html: '<p>{{ a }}</p>', width: 8, height: 8, varables: ['a'] },
  });
  t.same(warned(made), [201, 'ignored_parameter:varables,did_you_mean:variables']);
  const path = '/templates/odd';
  t.same(warned(await server.call(path, { method: 'PUT', key, json: { widht: 9 } })), [
    200,
    'ignored_parameter:widht,did_you_mean:width',
  ]);
  const { data } = (await server.call(path, { key })).json;
  t.same(
    warned(await server.call(path, { method: 'PUT', key, json: data })),
    [200, null],
    'an answer sent back',
  );
  const preset = await server.call('/presets', {
    key,
    json: { name: 'Odd', steps: [{ op: 'flip' }], subject: [] },
  });
  t.same(warned(preset), [201, 'ignored_parameter:subject,did_you_mean:subjects']);
  const again = await server.call(`/presets/${preset.json.data.id}`, {
    method: 'PUT',
    key,
    json: preset.json.data,
  });
  t.same(warned(again), [200, null], 'an answer sent back');
});

t.test('steps that are proposed for parameters of several ops have all of them, and run', async (t) => {
  const table = [
    ['op=resize,grayscale&width=9', [{ op: 'resize', parameters: { width: 9 } }, { op: 'grayscale' }]],
    [
      'op=thumbnail&width=9&height=6',
      [
        {
          op: 'resize',
          parameters: { width: 9, height: 6, fit: 'cover', gravity: 'attention', enlarge: true },
        },
      ],
    ],
    [
      'op=thumbnail&size=16&width=9&height=6',
      [
        { op: 'thumbnail', parameters: { size: 16 } },
        { op: 'resize', parameters: { width: 9, height: 6 } },
      ],
    ],
  ] as const;
  for (const [query, steps] of table) {
    const { json } = await server.call(`/images/transform?${query}`, { key, ...image });
    const [proposed] = json.error.details.instead;
    t.match(proposed.steps, steps, query);
    const made = await server.call('/images/transform', { key, json: { assetId, ...proposed } });
    t.equal(made.status, 200, query);
  }
});

t.test('PATCH is another name of PUT, which keeps what is not sent', async (t) => {
  const url = 'https://93.184.216.34/hook';
  const events = ['job.completed'];
  const made = [
    ['/presets', 'slug', { name: 'One', steps: [{ op: 'flip', parameters: {} }] }],
    ['/templates', 'id', { name: 'One', html: '<p>one</p>', width: 10, height: 10 }],
    ['/webhook-endpoints', 'id', { url, description: 'one', events }],
  ] as const;
  for (const [path, field, json] of made) {
    const created = await server.call(path, { key, json });
    t.equal(created.status, 201, created.json.error?.message);
    const at = `${path}/${created.json.data[field]}`;
    t.match(created.headers.get('location'), `/api/v1${path}/`);
    const found = await server.call(created.headers.get('location')?.replace('/api/v1', '') ?? '', { key });
    t.equal(found.json.data.id, created.json.data.id, `${path}: Location leads to it`);
    const change = { description: 'two' };
    const { status, json: answer } = await server.call(at, { method: 'PATCH', key, json: change });
    t.equal(status, 200, answer.error?.message);
    t.match(answer.data, { ...json, ...change }, path);
    const wrong = await server.call(at, { method: 'PATCH', key, json: { description: {} } });
    t.match(
      wrong.json.error,
      { code: 'invalid_param', param: 'description' },
      `${path}: it refuses as PUT does`,
    );
  }
  const content = await server.call('/assets/x/content', { method: 'PATCH', key, json: {} });
  t.equal(content.status, 405, 'bytes are put whole');
});

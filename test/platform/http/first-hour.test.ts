// needs: server
import t from 'tap';
import { ERROR_CODES, type ErrorCode } from '../../../src/platform/http/errors/errors.ts';
import { type Answer, type CallOptions, startServer } from '../../support/harness.ts';
import { redSquare } from '../../support/images.ts';

const server = await startServer(t);
const { key } = await server.account();
const png = await redSquare();
const image = { body: png, type: 'image/png' };
const text = (words: string, type = 'image/jpeg') => ({ body: words, type });

/** What newcomers send, the parameter that the refusal names, and what its sentence must say. */
const MISTAKES: Array<
  [what: string, path: string, options: CallOptions, param: string | undefined, says: RegExp]
> = [
  [
    'JSON steps',
    '/images/transform',
    { json: { url: 'https://a.test/a.png', steps: [] } },
    'steps',
    /a list of 1 to 20/,
  ],
  [
    'a list of assets',
    '/images/transform?op=flip',
    { json: { assetIds: ['ast_1'] } },
    'assetIds',
    /assetId, one id/,
  ],
  [
    'a misspelt field',
    '/images/transform?op=flip',
    { json: { asset_id: 'ast_1' } },
    'asset_id',
    /Did you mean assetId\?/,
  ],
  [
    'Base64 within JSON',
    '/images/transform?op=flip',
    { json: { image: 'iVBORw0KGgo' } },
    'image',
    /send its bytes/,
  ],
  [
    'a data: url',
    '/images/transform?op=flip',
    { json: { url: 'data:image/png;base64,AA' } },
    'url',
    /send the bytes themselves/,
  ],
  [
    'a url without scheme',
    '/images/transform?op=flip',
    { json: { url: 'example.com/a.png' } },
    'url',
    /must begin with https:\/\//,
  ],
  [
    'an ftp url',
    '/images/metadata',
    { json: { url: 'ftp://example.com/a.png' } },
    'url',
    /must begin with https:\/\//,
  ],
  [
    'a foreign name of a parameter',
    '/images/transform?op=convert&fmt=jpg',
    image,
    'fmt',
    /Did you mean format\?/,
  ],
  [
    'rectangles as a list of numbers',
    '/images/transform?op=redact&regions=[[1,2,3,4]]',
    image,
    'regions',
    /such as \{"x":10/,
  ],
  ['an unescaped #', '/images/transform?op=flatten&background=#fff', image, 'background', /write # as %23/],
  ['an unknown op', '/images/transform?op=rezise', image, 'op', /Did you mean resize\?/],
  ['an op of jobs', '/images/transform?op=overlay', image, 'op', /runs only as a job, or in steps/],
  ['no op', '/images/transform', image, 'op', /GET \/api\/v1\/ops/],
  [
    'a HEIC photo',
    '/images/metadata',
    text('\0\0\0\x18ftypheic\0\0\0\0'),
    'file',
    /HEIC file \(iPhone photo\).*as JPEG/,
  ],
  ['a PDF', '/images/metadata', text('%PDF-1.7'), 'file', /PDF file/],
  ['a BMP', '/images/metadata', text('BM\0\0\0\0'), 'file', /BMP file/],
  ['Base64 text', '/images/metadata', text('iVBORw0KGgoAAAANSUhEUg'), 'file', /Base64/],
  ['a JPEG XL', '/images/metadata', text('\0\0\0\x0cJXL \r\n'), 'file', /JPEG XL/],
  [
    'curl -d',
    '/images/metadata',
    text('x', 'application/x-www-form-urlencoded'),
    'Content-Type',
    /--data-binary/,
  ],
  ['rows of a job', '/images/render', { json: { templateId: 'a', items: [{}] } }, 'items', /into data/],
  [
    'a parameter beside the op of a job',
    '/jobs',
    { json: { op: 'resize', width: 8 } },
    'width',
    /into parameters/,
  ],
  [
    'a field of a job in another spelling',
    '/jobs',
    { json: { op: 'resize', asset_ids: [] } },
    'asset_ids',
    /Did you mean assetIds\?/,
  ],
  ['values beside data', '/images/render', { json: { templateId: 'a', title: 'x' } }, 'title', /into data/],
  [
    'a link of another call in a body',
    '/images/transform',
    { json: { assetId: 'ast_1', op: 'flip', response: 'url' } },
    'response',
    /\?response=url/,
  ],
  [
    'two forms of an answer',
    '/images/transform?op=flip&axis=both&response=url&response=bytes',
    image,
    'response',
    /given 2 times/,
  ],
  ['a parameter without a name', '/images/transform?op=flip&=5', image, 'parameters', /has no name/],
  ['a likeness in no format', '/images/transform?op=compress&minSsim=0.9', image, 'format', /so name it/],
  ['a job of nobody', '/jobs/job_1', {}, 'jobId', /GET \/api\/v1\/jobs lists/],
  [
    'an endpoint of nobody',
    '/webhook-endpoints/whe_1',
    {},
    'endpointId',
    /GET \/api\/v1\/webhook-endpoints lists/,
  ],
  [
    'an upload of nothing',
    '/assets/upload',
    { body: '', type: 'image/png' },
    'file',
    /is empty: send its bytes/,
  ],
  ['an empty url', '/assets/upload', { json: { url: '' } }, 'url', /text that is not empty/],
  [
    'no body',
    '/feedback',
    { method: 'POST', type: 'application/json' },
    'body',
    /The body is empty.*such as \{"kind"/,
  ],
  [
    'a word for a type',
    '/feedback',
    { body: '{}', type: 'garbage' },
    'Content-Type',
    /"Content-Type: application\/json"/,
  ],
  [
    'a form',
    '/feedback',
    { body: 'a=b', type: 'application/x-www-form-urlencoded' },
    'Content-Type',
    /"Content-Type: application\/json"/,
  ],
  ['a key where a session is asked for', '/api-keys', {}, 'Authorization', /POST \/api\/v1\/auth\/sign-in/],
  ['a page for an Accept', '/ops', { headers: { accept: 'text/html' } }, 'Accept', /cannot satisfy/],
  [
    'a duration with its unit',
    '/assets/ast_1/link?expiresIn=1h',
    {},
    'expiresIn',
    /"1h", but a whole number from 60 to 604800/,
  ],
  [
    'a number with its unit',
    '/images/transform?op=resize&width=300px',
    image,
    'width',
    /Send 300 without the unit/,
  ],
  [
    'a quality from 0 to 1',
    '/images/transform?op=convert&format=jpeg&quality=0.8',
    image,
    'quality',
    /Did you mean 80\?/,
  ],
  [
    'a number as text',
    '/jobs',
    { json: { op: 'resize', assetIds: ['ast_1'], parameters: { width: '300' } } },
    'parameters.width',
    /Send 300 without quotes/,
  ],
  [
    'null for nothing',
    '/jobs',
    { json: { op: 'resize', assetIds: ['ast_1'], parameters: { width: 3, height: null } } },
    'parameters.height',
    /Leave it out instead of sending null/,
  ],
  [
    'single quotes',
    '/feedback',
    { body: "{'kind': 'bug'}", type: 'application/json' },
    'body',
    /double quotes/,
  ],
  [
    'the id of an asset for a job',
    '/jobs/ast_1',
    {},
    'jobId',
    /ast_… is the id of an asset: the id of a job begins with job_/,
  ],
  ['a slash at the end', '/jobs/', {}, undefined, /Did you mean GET \/api\/v1\/jobs\?/],
  ['the id of a job for an asset', '/assets/job_1', {}, 'assetId', /job_… is the id of a job/],
  [
    'an op beside an unknown preset',
    '/jobs',
    { json: { op: 'resize', presetId: 'pre_none', assetIds: ['ast_1'] } },
    'op',
    /op must be left out beside presetId/,
  ],
  [
    'steps beside an unknown preset',
    '/jobs',
    { json: { steps: [{ op: 'flip' }], presetId: 'pre_none', assetIds: ['ast_1'] } },
    'presetId',
    /presetId must be left out beside steps/,
  ],
  [
    'an op beside an unknown preset of a transform',
    '/images/transform?op=flip&preset=none',
    image,
    'preset',
    /exclude each other/,
  ],
];

for (const [what, path, options, param, says] of MISTAKES) {
  t.test(`${what} is refused with how to fix it`, async (t) => {
    const { status, json } = await server.call(path, { key, ...options });
    t.equal(status, ERROR_CODES[json.error.code as ErrorCode].status);
    t.ok(status >= 400 && status < 500, `${status}`);
    t.equal(json.error.param, param);
    t.match(json.error.message, says);
  });
}

t.test('a type that is none is 415, whatever else is wrong with it', async (t) => {
  const { status } = await server.call('/feedback', { key, body: '{}', type: 'garbage' });
  t.equal(status, 415);
});

t.test('JSON may begin with a byte order mark, as shells write it', async (t) => {
  const body = '\ufeff{"kind": "other", "message": "From a shell."}';
  const { status, json } = await server.call('/feedback', { key, body, type: 'application/json' });
  t.same([status, json.data?.message], [201, 'From a shell.']);
});

t.test('a parameter beside the op of a step is told where it goes', async (t) => {
  const json = { name: 'a', steps: [{ op: 'resize', width: 3 }] };
  const { error } = (await server.call('/presets', { key, json })).json;
  t.equal(error.param, 'steps[0].width');
  t.match(error.message, /goes into parameters of the step/);
});

t.test('an API key sent as Bearer is told apart from a session that is over', async (t) => {
  const { status, headers, json } = await server.call('/account', { session: key });
  t.equal(status, 401);
  t.equal(json.error.message, 'An API key was sent as Bearer: send "Authorization: ApiKey …".');
  t.match(headers.get('www-authenticate'), /^ApiKey .*Bearer /);
  const missing = await server.call('/account');
  t.match(missing.headers.get('www-authenticate'), /^ApiKey /);
  t.same([json.error.param, missing.json.error.param], ['Authorization', 'Authorization']);
});

t.test('a credential in another form or place is told where it goes', async (t) => {
  const sent: Array<[what: string, path: string, headers: Record<string, string>, says: RegExp]> = [
    ['a header of other services', '/account', { 'x-api-key': key }, /header x-api-key is not read/],
    ['a query field', `/account?apiKey=${key}`, {}, /query field apiKey is not read/],
    ['a bare key', '/account', { authorization: key }, /write ApiKey before it/],
    [
      'a key cut short',
      '/account',
      { authorization: `ApiKey ${key.slice(0, 20)}` },
      /44 characters and this one has 20/,
    ],
  ];
  for (const [what, path, headers, says] of sent) {
    const { status, json } = await server.call(path, { headers });
    t.equal(status, 401, what);
    t.match(json.error.message, says, what);
    t.notMatch(json.error.message, key, `${what}: the key is not repeated`);
  }
});

t.test('a region outside of the picture names itself and the size in details', async (t) => {
  const regions = [
    { x: 0, y: 0, width: 1, height: 1 },
    { x: 9_999, y: 0, width: 1, height: 1 },
  ];
  const query = new URLSearchParams({ op: 'redact', regions: JSON.stringify(regions) });
  const { json } = await server.call(`/images/transform?${query}`, { key, ...image });
  t.same([json.error.param, json.error.details.index], ['regions', 1]);
  t.ok(json.error.details.width > 0 && json.error.details.height > 0);
});

t.test('a query field that an endpoint does not read is named in X-Service-Warnings', async (t) => {
  const warned = async (path: string, options: CallOptions = { key }) => {
    const { status, headers } = await server.call(path, options);
    return [status, headers.get('x-service-warnings')];
  };
  t.same(await warned('/assets?limit=5'), [200, 'ignored_parameter:limit,did_you_mean:perPage']);
  t.same(await warned('/jobs?limit=1&nonsense=2'), [
    200,
    'ignored_parameter:limit,did_you_mean:perPage,ignored_parameter:nonsense',
  ]);
  t.same(await warned('/assets?perPage=5&collection=a'), [200, 'unknown_collection:a']);
  t.same(await warned('/ops?kind=ai', {}), [200, 'ignored_parameter:kind']);
  t.same(await warned('/jobs?perpage=1&createdform=2026-01-01'), [
    200,
    'ignored_parameter:perpage,did_you_mean:perPage,ignored_parameter:createdform,did_you_mean:createdFrom',
  ]);
  t.same(await warned('/account'), [200, null]);
  t.same(await warned('/account?a%20b=1'), [200, 'ignored_parameter:a%20b']);
  const form = { key, ...image };
  t.same(await warned('/images/metadata?quality=1', form), [200, 'ignored_parameter:quality']);
  t.same(await warned('/assets/upload?name=a', form), [201, null]);
});

t.test('a file sent to where assets are reserved is told where uploads go', async (t) => {
  const form = new FormData();
  form.set('file', new Blob([png]), 'a.png');
  const { status, json } = await server.call('/assets', { key, body: form });
  t.equal(status, 415);
  t.match(json.error.message, /POST \/api\/v1\/assets\/upload/);
});

t.test('a path that is nearly one of ours names it', async (t) => {
  const meant: Array<[path: string, method: string, known: string]> = [
    ['//v1/images/transform', 'POST', 'POST /api/v1/images/transform'],
    ['//transform', 'POST', 'POST /api/v1/images/transform'],
    ['//ops', 'GET', 'GET /api/v1/ops'],
    ['/images/transform/', 'POST', 'POST /api/v1/images/transform'],
    ['/asset/upload', 'POST', 'POST /api/v1/assets/upload'],
    ['/ASSETS', 'GET', 'GET /api/v1/assets'],
  ];
  for (const [path, method, known] of meant) {
    const { status, json } = await server.call(path, { method });
    t.equal(status, 404, path);
    t.match(json.error.message, `Did you mean ${known}?`, path);
  }
  t.notMatch((await server.call('//nothing/like/it')).json.error.message, /Did you mean/);
});

t.test('a transform that succeeds carries the warnings of its steps', async (t) => {
  const warned = (answer: Answer) => [answer.status, answer.headers.get('x-service-warnings')];
  const transform = (query: string) => server.call(`/images/transform?${query}`, { key, ...image });
  t.same(warned(await transform('op=rotate&angle=0')), [200, 'no_effect']);
  t.same(warned(await transform('op=flip')), [200, null]);
  const steps = [
    { op: 'convert', parameters: { format: 'PNG' } },
    { op: 'convert', parameters: { format: 'jpg' } },
  ];
  const preset = await server.call('/presets', { key, json: { name: 'Twice', steps } });
  t.same(preset.json.data.steps[1].parameters, { format: 'jpeg' }, 'stored in one spelling');
  t.same(warned(await transform('preset=twice')), [200, 'format_shadowed,larger_than_input']);
  const again = await server.call('/presets/twice', { method: 'PUT', key, json: { steps } });
  t.equal(again.json.data.version, 1, 'another spelling is no change');
});

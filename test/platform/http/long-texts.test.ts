// needs: server
import t, { type Test } from 'tap';
import { concatenateBytes } from '../../../src/platform/http/bodies/multipart.ts';
import { invalidParamError } from '../../../src/platform/http/errors/errors.ts';
import { checkJsonSize } from '../../../src/product/catalogue/plan/step.ts';
import { type CallOptions, sharedServer } from '../../support/harness.ts';

/** A little less than the parameters of a job may have: work that takes the square of it would take minutes. */
const LONG = 60_000;
const DIGITS = '1'.repeat(LONG);
const SPACES = ' '.repeat(LONG);

const server = await sharedServer();
const { key } = await server.account({ plan: 'scale' });

function formOf(fields: Record<string, string>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set('file', new Blob(['x'], { type: 'image/png' }), 'a.png');
  return form;
}

interface Row {
  name: string;
  path: string;
  call: CallOptions;
  answer: { status: number; code: string; param?: string };
}

const wrong = (param: string) => ({ status: 400, code: 'invalid_param', param });

/** A price of a step with one parameter. */
function priced(name: string, op: string, parameter: string, value: string): Row {
  const json = { op, parameters: { [parameter]: value }, imageCount: 1 };
  return { name, path: '/jobs?dryRun=true', call: { json }, answer: wrong(`parameters.${parameter}`) };
}

const MAX_PATH = 15_000;
/** JSON text of lists within lists. */
const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

const ROWS: Row[] = [
  priced('a number that does not end', 'resize', 'width', `${DIGITS}z`),
  priced('a number with spaces behind it', 'resize', 'width', `1${SPACES}z`),
  priced('a fraction that does not end', 'adjust', 'brightness', `1.${DIGITS}z`),
  priced('a colour of many digits', 'pad', 'background', `rgb(${DIGITS}`),
  priced('a colour with spaces', 'flatten', 'background', `hsl(1${SPACES}`),
  priced(
    'a ratio of many digits',
    'crop',
    'aspect',
    `${DIGITS.slice(0, LONG / 3)}:${DIGITS.slice(0, LONG / 3)}`,
  ),
  {
    name: 'a number of a megabyte in a reference',
    path: '/images/transform',
    call: {
      json: { url: 'https://a.example/', op: 'resize', parameters: { width: '1'.repeat(1_000_000) } },
    },
    answer: wrong('parameters'),
  },
  {
    name: 'a prompt that names a subject, and spaces',
    path: '/jobs?dryRun=true',
    call: { json: { op: 'generate', prompt: `{{subject.a${' '.repeat(31_000)}`, count: 1 } },
    answer: { status: 200, code: '' },
  },
  {
    name: 'lists within lists in the text of a list',
    path: '/images/transform',
    call: {
      json: { url: 'https://a.example/', op: 'redact', parameters: { regions: nested(LONG / 2 - 100) } },
    },
    answer: wrong('regions'),
  },
  {
    name: 'lists within lists in the query',
    path: `/images/transform?op=redact&regions=${nested(MAX_PATH / 3)}`,
    call: { body: 'x', type: 'image/png' },
    answer: wrong('regions'),
  },
  {
    name: 'lists within lists as steps in the query',
    path: `/images/transform?steps=${nested(MAX_PATH / 3)}`,
    call: { body: 'x', type: 'image/png' },
    answer: wrong('steps'),
  },
  {
    name: 'lists within lists in a form',
    path: '/images/transform',
    call: { body: formOf({ op: 'redact', regions: nested(100_000) }) },
    answer: wrong('regions'),
  },
  {
    name: 'a path of slashes',
    path: `//api/v1${'/'.repeat(MAX_PATH)}x`,
    call: {},
    answer: { status: 404, code: 'not_found' },
  },
];

for (const { name, path, call, answer } of ROWS) {
  t.test(`a long text takes no longer for what is in it: ${name}`, async (t) => {
    const { status, json } = await server.call(path, { key, ...call });
    t.equal(status, answer.status, json?.error?.message?.slice(0, 200));
    t.match(
      json?.error ?? { code: '' },
      answer.param === undefined ? { code: answer.code } : { ...answer, status: undefined },
    );
  });
}

const MANY = Object.fromEntries(Array.from({ length: 6_000 }, (_, at) => [`name${at}`, at]));
const WORK = { op: 'resize', parameters: MANY };
const url = 'https://a.example/';

t.test('parameters of thousands of names are refused by their size, wherever they are sent', async (t) => {
  const calls: [path: string, call: CallOptions, param: string][] = [
    ['/images/transform', { json: { url, ...WORK } }, 'parameters'],
    ['/images/transform', { body: formOf({ op: 'resize', parameters: JSON.stringify(MANY) }) }, 'parameters'],
    ['/images/transform', { json: { url, steps: [WORK] } }, 'steps[0].parameters'],
    [
      '/images/transform',
      {
        json: {
          url,
          outputs: [
            { name: 'a', ...WORK },
            { name: 'b', op: 'flip' },
          ],
        },
      },
      'outputs[0].parameters',
    ],
    ['/jobs?dryRun=true', { json: { ...WORK, imageCount: 1 } }, 'parameters'],
    ['/presets', { json: { name: 'x', steps: [WORK] } }, 'steps[0].parameters'],
  ];
  for (const [path, call, param] of calls) {
    const { status, json } = await server.call(path, { key, ...call });
    t.equal(status, 400, `${path} ${param}`);
    t.match(json?.error, { code: 'invalid_param', param, details: { limit: 65_536 } }, `${path} ${param}`);
  }
});

t.test('a page with more names than it may have data for is looked through once', async (t) => {
  const names = Array.from({ length: 20_000 }, (_, at) => `a${at}`);
  const html = names.map((name) => `{{${name}}}`).join('');
  const data = Object.fromEntries(names.map((name, at) => [at % 2 === 0 ? name : `${name}.b`, 'x']));
  for (const page of [
    { html, data },
    { html: `{{${'1'.repeat(250_000)}x}}`, data: {} },
  ]) {
    const json = { ...page, width: 10, height: 10 };
    const { status } = await server.call('/images/render?dryRun=true', { key, json });
    t.equal(status, 200);
  }
});

t.test('a body with thousands of fields that its route does not read is answered at once', async (t) => {
  const ignored = Array.from({ length: 19_000 }, (_, at) => [`a name of about forty characters ${at}`, at]);
  const json = { name: 'x', html: 'x', width: 10, height: 10, wdith: 10, ...Object.fromEntries(ignored) };
  const { status, headers } = await server.call('/templates', { key, json });
  t.equal(status, 201);
  const warnings = headers.get('x-service-warnings') ?? '';
  t.match(warnings, /ignored_parameter:wdith,did_you_mean:width/);
  t.match(warnings, /,more:\d+$/);
});

/** A value whose second entry must not be read. */
function readNoFurther(t: Test): Record<string, unknown> {
  return Object.defineProperty({ first: 'x'.repeat(300_000) }, 'second', {
    enumerable: true,
    get: () => t.fail('the rest is not read'),
  });
}

t.test('a value that is too large is not serialized to its end', async (t) => {
  const refusal = { param: 'parameters', message: /is over 65536 bytes of JSON/, details: { limit: 65_536 } };
  t.throws(() => checkJsonSize(readNoFurther(t), 'parameters'), refusal);
  t.throws(() => checkJsonSize({ text: 'é'.repeat(40_000) }, 'parameters'), refusal, 'bytes are counted');
  t.doesNotThrow(() => checkJsonSize({ text: 'x'.repeat(65_536 - '{"text":""}'.length) }, 'parameters'));
  t.throws(() => checkJsonSize({ text: 'x'.repeat(65_537 - '{"text":""}'.length) }, 'parameters'), refusal);
  const { details } = invalidParamError('items', 'Too many.', { received: readNoFurther(t), limit: 5 });
  t.match(details, { received: /^\{"first":"x{3900,} …$/, limit: 5 });
});

t.test('the chunks of a large file are joined in several turns of the event loop', async (t) => {
  const chunks = Array.from({ length: 200 }, (_, at) => new Uint8Array(65_536).fill(at));
  let turns = 0;
  const count = () => {
    turns += 1;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const bytes = await concatenateBytes(chunks);
  clearImmediate(counting);
  t.ok(turns >= 3, `${turns} turns`);
  t.ok(Buffer.from(bytes).equals(Buffer.concat(chunks)));
  t.equal(bytes.buffer.byteLength, bytes.byteLength);
});

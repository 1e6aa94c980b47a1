// needs: server
import sharp from 'sharp';
import t from 'tap';
import type { Answer } from '../../support/harness.ts';
import { openCalls, pictureOf, pngOf, refusalOf } from './calls.ts';
import { filePart, MULTIPART, multipartOf, type Part, sendParts } from './multipart.ts';

const picture = sharp({ create: { width: 40, height: 20, channels: 3, background: '#c04020' } });
const png = await pngOf(picture);
const jpeg = new Uint8Array(await picture.clone().jpeg().toBuffer());
const calls = await openCalls(t);
const field = (name: string, value: string): Part => ({ name, value });
const INVALID = { status: 400, code: 'invalid_param', retryable: false };

t.test('multipart fields are parameters in text, as in a query', async (t) => {
  const widthOf = async (answer: Promise<Answer>) => (await pictureOf(await answer)).width;
  t.equal(
    await widthOf(sendParts(calls, '', [field('op', 'resize'), field('width', '8'), filePart(png)])),
    8,
  );
  t.equal(
    await widthOf(
      sendParts(calls, '', [filePart(png), field('op', 'resize'), field('parameters', '{"width":7}')]),
    ),
    7,
  );
  t.equal(
    await widthOf(sendParts(calls, '?op=resize&width=6', [field('width', '8'), filePart(png)])),
    6,
    'the query wins',
  );
  const regions = JSON.stringify([{ x: 0, y: 0, width: 20, height: 20 }]);
  const redacted = await pictureOf(
    await sendParts(calls, '?op=redact&format=png', [field('regions', regions), filePart(png)]),
  );
  t.same(
    [redacted.at(5, 5), redacted.at(30, 5)],
    [
      [0, 0, 0, 255],
      [0xc0, 0x40, 0x20, 255],
    ],
  );
  for (const [fields, param] of [
    [[field('op', 'resize'), field('width', '0')], 'width'],
    [[field('op', 'resize'), field('widht', '9')], 'widht'],
    [[field('op', 'redact'), field('regions', 'nowhere')], 'regions'],
    [[field('op', 'resize'), field('parameters', '{')], 'parameters'],
    [[field('preset', 'x'), field('width', '9')], 'width'],
    [[field('op', 'resize'), field('__proto__', '9')], '__proto__'],
  ] as const) {
    t.match(refusalOf(await sendParts(calls, '', [...fields, filePart(png)])), { ...INVALID, param });
  }
});

t.test('a multipart body has one file, whole and by its name', async (t) => {
  const query = '?op=resize&width=8';
  const other: Part = { ...filePart(png), name: 'photo' };
  t.match(refusalOf(await sendParts(calls, query, [])), { ...INVALID, param: 'file' });
  const misnamed = await sendParts(calls, query, [other]);
  t.match(refusalOf(misnamed), { ...INVALID, param: 'file' });
  t.match(misnamed.json.error.message, /no part named "file", but one named "photo"/);
  t.match(refusalOf(await sendParts(calls, query, [{ name: 'file', value: 'photo.jpg' }])), {
    ...INVALID,
    param: 'file',
  });
  t.match(refusalOf(await sendParts(calls, query, [filePart(png), filePart(jpeg, 'image/jpeg')])), {
    ...INVALID,
    param: 'file',
  });
  t.match(refusalOf(await sendParts(calls, query, [filePart(new Uint8Array(0))])), {
    status: 400,
    code: 'unsupported_format',
    param: 'file',
  });
  t.equal((await sendParts(calls, query, [other, filePart(png), { ...other, name: 'mask' }])).status, 200);
  t.equal(
    (await sendParts(calls, query, [filePart(png, 'application/octet-stream')])).status,
    200,
    'a part of no type is looked at',
  );
  t.equal((await sendParts(calls, query, [{ name: 'file', value: png, filename: 'a' }])).status, 200);
  t.match(refusalOf(await sendParts(calls, query, [filePart(jpeg, 'image/png')])), {
    status: 400,
    code: 'unsupported_format',
    param: 'file',
  });
  const bare = await calls.server.call(`/images/transform${query}`, {
    key: calls.key,
    body: multipartOf([filePart(png)]),
    type: 'multipart/form-data',
  });
  t.match(refusalOf(bare), { ...INVALID, param: 'body' }, 'no boundary');
});

t.test('a multipart body that ends too early is refused, wherever it ends', async (t) => {
  const whole = multipartOf([
    { name: 'width', value: '8' },
    filePart(png),
    { ...filePart(png), name: 'mask' },
  ]);
  for (const part of [0.05, 0.15, 0.3, 0.5, 0.7, 0.9, 0.99]) {
    const body = whole.slice(0, Math.floor(whole.length * part));
    const answer = await calls.server.call('/images/transform?op=resize&width=8', {
      key: calls.key,
      body,
      type: MULTIPART,
    });
    t.match(refusalOf(answer), { ...INVALID, param: /^(body|file)$/ }, `cut at ${part}`);
  }
  t.equal((await calls.transform({ op: 'resize', width: 8 }, png)).status, 200, 'the process lives');
});

t.test('a field given twice, a text called file, and deep parameters are refused by name', async (t) => {
  const deep = `${'['.repeat(300)}${']'.repeat(300)}`;
  const rows: Array<[parts: Part[], param: string, message: RegExp]> = [
    [[field('op', 'resize'), field('op', 'flip'), filePart(png)], 'op', /more than once/],
    [[field('op', 'flip'), field('file', 'a.png')], 'file', /that is text/],
    [
      [field('op', 'flip'), field('parameters', `{"axis":${deep}}`), filePart(png)],
      'parameters',
      /200 lists/,
    ],
  ];
  for (const [parts, param, message] of rows) {
    const { status, json } = await sendParts(calls, '', parts);
    t.match([status, json.error], [400, { code: 'invalid_param', param, message }]);
  }
});

t.test(
  'a text field beyond its bytes is refused by name, wherever it stands and whatever it holds',
  async (t) => {
    const limit = 256 * 1024;
    const tooLarge = { status: 413, code: 'payload_too_large', details: { limit } };
    const json = (bytes: number) => `{"width":8${' '.repeat(bytes - '{"width":8}'.length)}}`;
    const [fits, over] = [json(limit), json(limit + 1)];
    const query = '?op=resize';
    t.equal((await sendParts(calls, query, [field('parameters', fits), filePart(png)])).status, 200);
    for (const [name, value] of [
      ['parameters', over],
      ['steps', `[${' '.repeat(limit)}]`],
      ['outputs', '['.repeat(limit + 1)],
      ['width', '8'.repeat(limit + 1)],
      ['other', 'é'.repeat(limit)],
    ] as const) {
      const parts = [filePart(png), field(name, value)];
      for (const sent of [parts, parts.toReversed()]) {
        const { status, json } = await sendParts(calls, query, sent);
        t.match({ status, ...json.error }, { ...tooLarge, param: name }, name);
      }
    }
    t.equal((await calls.transform({ op: 'resize', width: 8 }, png)).status, 200, 'the process lives');
  },
);

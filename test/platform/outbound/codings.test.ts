// needs: nothing
import { createHash, randomBytes } from 'node:crypto';

import zlib from 'node:zlib';
import t from 'tap';
import { OutboundRequests } from '../../../src/platform/outbound/outbound.ts';
import { serve } from './listener.ts';

const outbound = new OutboundRequests({ allowedSubnets: ['127.0.0.0/8'], allowsHttp: true });
const MAX_BYTES = 200_000;
const fetchImage = (url: string) => outbound.fetchImage(url, { limitBytes: MAX_BYTES, timeoutMs: 10_000 });

type Code = (bytes: Buffer) => Buffer;
const CODERS: Record<string, Code> = {
  gzip: (bytes) => zlib.gzipSync(bytes),
  'x-gzip': (bytes) => zlib.gzipSync(bytes),
  deflate: (bytes) => zlib.deflateSync(bytes),
  'deflate ': (bytes) => zlib.deflateRawSync(bytes),
  br: (bytes) => zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }),
  zstd: (bytes) => zlib.zstdCompressSync(bytes),
};
const coders = Object.entries(CODERS);

/** A host whose next body and coding the test chooses. */
const next: { body: Buffer; codings: string[]; announced?: boolean } = {
  body: Buffer.alloc(0),
  codings: [],
};
const { url } = await serve(t, (_request, response) => {
  const { body, codings, announced = true } = next;
  response.setHeader('content-encoding', codings);
  response.writeHead(200, announced ? { 'content-length': body.length } : {}).end(body);
});
async function fetched(body: Buffer, codings: string | string[], announced = true) {
  Object.assign(next, { body, codings: [codings].flat(), announced });
  return Buffer.from((await fetchImage(url)).bytes);
}

const sha1 = (bytes: Uint8Array) => createHash('sha1').update(bytes).digest('hex');
const refused = (coding: string | RegExp, message: RegExp) => ({
  ...{ code: 'invalid_param', status: 400, param: 'url', details: { coding }, message },
});
const tooLarge = {
  ...{ code: 'payload_too_large', status: 413, param: 'file', details: { limit: MAX_BYTES } },
};

t.test('each coding is undone, announced or not, in any spelling', async (t) => {
  const text = Buffer.from('<svg/>'.repeat(10_000));
  for (const [name, code] of coders) {
    for (const announced of [true, false]) {
      t.equal(sha1(await fetched(code(text), name, announced)), sha1(text), name);
      t.equal(sha1(await fetched(code(text), ` ${name.toUpperCase()} , identity`, announced)), sha1(text));
    }
  }
  for (const none of ['', 'identity', ' , Identity,', 'aws-chunked'])
    t.equal(sha1(await fetched(text, none)), sha1(text), none);
  const { bytes } = await fetchImage(url);
  t.equal(bytes.buffer.byteLength, bytes.byteLength, 'the array owns its whole buffer');
});

t.test('several codings are undone from the last to the first', async (t) => {
  const text = randomBytes(20_000);
  for (const [first, code] of coders) {
    for (const [second, codeAgain] of coders) {
      t.equal(sha1(await fetched(codeAgain(code(text)), `${first}, ${second}`)), sha1(text));
      t.equal(sha1(await fetched(codeAgain(code(text)), [first, second])), sha1(text), 'in two headers');
    }
  }
});

t.test('decoded bytes are counted: the limit is exact, and a bomb stops there', async (t) => {
  const full = randomBytes(MAX_BYTES);
  const above = randomBytes(MAX_BYTES + 1);
  const bomb = Buffer.alloc(20 * MAX_BYTES);
  for (const [name, code] of coders) {
    t.equal((await fetched(code(full), name)).length, MAX_BYTES, name);
    await t.rejects(fetched(code(above), name), tooLarge, name);
    await t.rejects(fetched(code(bomb), name), tooLarge, name);
    await t.rejects(fetched(code(code(bomb)), `${name},${name}`), tooLarge, name);
    await t.rejects(
      fetched(code(Buffer.concat([code(Buffer.from('small')), bomb])), `gzip,${name}`),
      tooLarge,
    );
  }
});

t.test('a body that is cut off, or is not of its coding, is refused', async (t) => {
  const text = randomBytes(10_000);
  for (const [spelt, code] of coders) {
    const name = spelt.trim();
    const message = new RegExp(`coded as ${name}, but does not decode`);
    const coded = code(text);
    const cuts = [1, 5, coded.length >> 1, coded.length - 1].map((end) => coded.subarray(0, end));
    const others = [
      // Random bytes may be an empty body of br.
      Buffer.alloc(10_000, 'not coded '),
      Buffer.from('\x89PNG\r\n\x1a\n'),
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
    ];
    for (const broken of [...cuts, ...others])
      await t.rejects(fetched(broken, name), refused(name, message), `${name}, ${broken.length} bytes`);
  }
});

t.test('an unknown coding is refused by its name, and not read', async (t) => {
  for (const name of ['compress', 'constructor', '__proto__', 'gzip;q=1', 'gzip br'])
    await t.rejects(
      fetched(Buffer.alloc(2 * MAX_BYTES), `gzip, ${name}`),
      refused(name, /which is not read/),
    );
  const long = 'x'.repeat(1_000);
  await t.rejects(fetched(Buffer.from('x'), long), refused('x'.repeat(40), /gzip, deflate, br and zstd/));
});

t.test('more than two codings, or a hundred zstd frames, are refused by that name', async (t) => {
  const text = randomBytes(1_000);
  const thrice = zlib.gzipSync(zlib.gzipSync(zlib.gzipSync(text)));
  const message = /more than 2 content codings or 100 zstd frames/;
  await t.rejects(fetched(thrice, 'gzip, gzip, gzip'), refused('gzip, gzip, gzip', message));
  await t.rejects(
    fetched(
      Buffer.alloc(2 * MAX_BYTES),
      Array.from({ length: 50 }, () => 'br'),
    ),
    refused(/^br, br, br, /, message),
  );
  const framesOf = (count: number) => Buffer.concat(Array(count).fill(zlib.zstdCompressSync(text)));
  t.equal((await fetched(framesOf(100), 'zstd')).length, 100 * text.length);
  await t.rejects(fetched(framesOf(101), 'zstd'), refused('zstd', message));
});

t.test('an empty body is refused as one, coded or not', async (t) => {
  for (const [name, code] of coders)
    for (const body of [Buffer.alloc(0), code(Buffer.alloc(0))])
      await t.rejects(fetched(body, name), { code: 'invalid_param', param: 'url', message: /empty/ }, name);
});

t.test('all frames of zstd and all members of gzip are read, and counted together', async (t) => {
  const parts = [
    randomBytes(90_000),
    Buffer.alloc(0),
    Buffer.from('<svg/>'.repeat(9_000)),
    randomBytes(40_000),
  ];
  const skippable = Buffer.concat([Buffer.of(0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0), Buffer.from('own')]);
  const frames = parts.flatMap((part) => [zlib.zstdCompressSync(part), skippable]);
  const whole = sha1(Buffer.concat(parts));
  t.equal(sha1(await fetched(Buffer.concat(frames), 'zstd')), whole);
  t.equal(sha1(await fetched(Buffer.concat([skippable, ...frames]), 'zstd')), whole);
  t.equal(sha1(await fetched(Buffer.concat(parts.map((part) => zlib.gzipSync(part))), 'gzip')), whole);
  const last = zlib.zstdCompressSync(randomBytes(MAX_BYTES - 184_000 + 1));
  await t.rejects(fetched(Buffer.concat([...frames, last]), 'zstd'), tooLarge);
  const broken = [last.subarray(0, -1), last.subarray(0, 3), Buffer.from('no frame')];
  for (const end of broken)
    await t.rejects(fetched(Buffer.concat([...frames, end]), 'zstd'), refused('zstd', /does not decode/));
});

t.test('a zstd frame may not ask for a large window', async (t) => {
  const params = { [zlib.constants.ZSTD_c_windowLog]: 27, [zlib.constants.ZSTD_c_contentSizeFlag]: 0 };
  const stream = zlib.createZstdCompress({ params });
  stream.write(Buffer.alloc(1_000));
  stream.end();
  const coded = Buffer.concat(await Array.fromAsync(stream as AsyncIterable<Buffer>));
  await t.rejects(fetched(coded, 'zstd'), refused('zstd', /does not decode/));
});

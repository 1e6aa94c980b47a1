// needs: nothing
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { readPeerOptions } from '../../bench/peers/options.ts';
import { listenersOf } from '../../bench/peers/sides.ts';
import type { SuiteRow } from '../../bench/suite.ts';
import { serve } from '../support/loopback.ts';

const MAIN = join(import.meta.dirname, '../../bench/main.ts');

/** A request for a picture as the pattern of the test says it. */
function askedFor(request: IncomingMessage) {
  const [, width, format, quality, source = ''] = (request.url ?? '').split('/');
  return { width: Number(width), format: format as 'jpeg', quality: Number(quality), source };
}

function scaling({ by = 1, format }: { by?: number; format?: 'png' } = {}) {
  return async (request: IncomingMessage, response: ServerResponse) => {
    const asked = askedFor(request);
    const source = await (await fetch(decodeURIComponent(asked.source))).arrayBuffer();
    const image = sharp(Buffer.from(source)).resize({ width: asked.width * by });
    const bytes = await image.toFormat(format ?? asked.format, { quality: asked.quality }).toBuffer();
    response.writeHead(200, { 'content-type': `image/${format ?? asked.format}` }).end(bytes);
  };
}

async function patternOf(t: Test, answer: RequestListener): Promise<[name: string, pattern: string]> {
  const { url } = await serve(t, answer);
  return [new URL(url).host, `${url}/{width}/{format}/{quality}/{source}`];
}

/** Runs the command as a user does. @returns the rows of its result, and its page. */
async function peers(t: Test, patterns: readonly string[]): Promise<{ rows: SuiteRow[]; page: string }> {
  const out = t.testdir();
  const words = ['peers', '--cases', 'small.jpg to 64 px jpeg', '--out', out];
  await promisify(execFile)(
    process.execPath,
    [MAIN, ...words, ...patterns.flatMap((pattern) => ['--pattern', pattern])],
    { env: { ...process.env, BENCH_ROUNDS: '1', BENCH_ROUND_MS: '200' } },
  );
  const written = (ending: string) => {
    const name = readdirSync(out).find((file) => file.endsWith(ending)) ?? ending;
    return readFileSync(join(out, name), 'utf8');
  };
  const { rows } = JSON.parse(written('.json')) as { rows: SuiteRow[] };
  return { rows, page: written('.html') };
}

t.test('a server is measured beside Darkroom, and one that answers wrongly is noted', async (t) => {
  const sources: string[] = [];
  const [right, rightPattern] = await patternOf(t, (request, response) => {
    sources.push(askedFor(request).source);
    return scaling()(request, response);
  });
  let calls = 0;
  const wrong: Array<[answer: RequestListener, note: RegExp]> = [
    [(_request, response) => response.writeHead(422).end('no such filter'), /answered 422: no such filter/],
    [
      (_request, response) => response.writeHead(200).end('<h1>Hello</h1>'),
      /14 bytes that are not a picture/,
    ],
    [scaling({ by: 2 }), /a width of 128 px instead of 64 px/],
    [scaling({ format: 'png' }), /answered png instead of jpeg/],
    [(request) => request.socket.destroy(), /did not answer/],
    [
      (request, response) => {
        calls += 1;
        return calls > 3 ? response.writeHead(503).end() : scaling()(request, response);
      },
      /answered 503/,
    ],
  ];
  const named: Array<[name: string, note: RegExp]> = [];
  const patterns = [rightPattern];
  for (const [answer, note] of wrong) {
    const [name, pattern] = await patternOf(t, answer);
    named.push([name, note]);
    patterns.push(pattern);
  }
  const { rows, page } = await peers(t, patterns);
  const rowOf = (server: string) => rows.find((row) => row.server === server);

  for (const server of ['Darkroom, by body', 'Darkroom, by asset', right]) {
    const row = rowOf(server);
    t.equal(row?.note, '', `${server} is measured`);
    for (const figure of ['CPU ms', 'ratio CPU', 'calls/s', 'p50 ms', 'bytes', 'SSIMULACRA2'])
      t.type(row?.[figure], 'number', `${figure} of ${server}`);
  }
  t.equal(rowOf('Darkroom, by body')?.['ratio CPU'], 1);
  t.equal(rowOf('Darkroom, by asset')?.['ratio bytes'], 1, 'the same file has the same bytes');
  t.equal(new Set(sources).size, sources.length, 'each source has an address of its own');
  for (const [server, note] of named) {
    t.match(rowOf(server)?.note, note);
    t.equal(rowOf(server)?.['CPU ms'], '', 'a wrong answer has no figures');
    t.ok(page.includes(server), 'the page lists it');
  }
});

t.test('a listening port leads to its process', async (t) => {
  const { url } = await serve(t, (_request, response) => response.end());
  t.same(listenersOf(Number(new URL(url).port)), [process.pid]);
});

t.test('options say which servers are asked, and how', async (t) => {
  const { peers } = readPeerOptions([
    ...['--imgproxy', 'http://127.0.0.1:8080/', '--ipx', 'http://localhost', '--pid', '8080=12'],
  ]);
  t.same(peers, [
    {
      name: 'imgproxy',
      pattern: 'http://127.0.0.1:8080/unsafe/rs:fit:{width}:0/q:{quality}/plain/{source}@{format}',
      port: 8080,
      pid: 12,
    },
    {
      name: 'ipx',
      pattern: 'http://localhost/w_{width},f_{format},q_{quality}/{source}',
      port: 80,
      pid: null,
    },
  ]);
  t.throws(() => readPeerOptions([]), /--imgproxy URL/);
  t.throws(() => readPeerOptions(['--pattern', 'http://a/64/{source}']), /no {width}, {format}/);
  t.throws(() => readPeerOptions(['--ipx', 'ftp://a']), /an http or https address/);
  t.throws(() => readPeerOptions(['--ipx', 'http://a', '--pid', '12']), /8080=1234/);
  t.throws(() => readPeerOptions(['--ipx', 'http://a', '--pid', '81=12']), /the servers have 80/);
});

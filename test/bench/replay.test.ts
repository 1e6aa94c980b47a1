// needs: nothing
import t from 'tap';
import { dueTimes, meanRate } from '../../bench/load/loops.ts';
import { fromImgproxy, fromThumbor, readPresets } from '../../bench/replay/addresses.ts';
import { leftOutOf, parseDurationMs, readRecording } from '../../bench/replay/recording.ts';
import { storedTransforms } from '../../bench/suites/calls.ts';
import { seededRandom } from '../../workers/models/random.ts';

t.test('addresses of imgproxy become transforms', async (t) => {
  const presets = readPresets('thumb=rs:fill:100:80/q:60,sharp=pr:thumb/sh:0.5,loop=pr:loop/w:5');
  const read = (address: string) => fromImgproxy(address, presets);
  const rows: Array<[address: string, query: string, without?: string[]]> = [
    [
      '/insecure/rs:fill:300:200:0/q:80/plain/http://x/a.jpg@webp',
      'op=resize&width=300&height=200&fit=cover&quality=80&format=webp',
    ],
    ['/unsafe/w:512/aHR0cDovL3gvYS5qcGc.jpg', 'op=resize&width=512&format=jpeg'],
    [`/${'a'.repeat(43)}/resize:fit:512:0/plain/s3://b/c.png`, 'op=resize&width=512'],
    ['/insecure/f:avif/plain/http://x/a.jpg', 'op=convert&format=avif'],
    ['/insecure/rs:fit:300:200/dpr:2/plain/x.jpg', 'op=resize&width=600&height=400&fit=inside'],
    ['/insecure/dpr:1.5/w:301/plain/x.jpg', 'op=resize&width=452'],
    ['/insecure/z:2:3/s:100:100/plain/x.jpg', 'op=resize&width=200&height=300'],
    ['/img/v1/insecure/w:300/plain/x.jpg', 'op=resize&width=300'],
    ['/any-signature/w:300/plain/x.jpg', 'op=resize&width=300'],
    ['/insecure/w:300/g:sm/bl:3/cb:7/plain/x.jpg', 'op=resize&width=300', ['g', 'bl']],
    ['/insecure/pr:thumb/plain/x.jpg', 'op=resize&width=100&height=80&fit=cover&quality=60'],
    ['/insecure/pr:thumb/q:90/plain/x.jpg', 'op=resize&width=100&height=80&fit=cover&quality=90'],
    ['/insecure/thumb/plain/x.jpg', 'op=resize&width=100&height=80&fit=cover&quality=60'],
    ['/p/_/thumb:sharp/plain/x.jpg', 'op=resize&width=100&height=80&fit=cover&quality=60', ['sh']],
    ['/insecure/pr:loop/plain/x.jpg', 'op=resize&width=5'],
    ['/insecure/pr:other/w:64/plain/x.jpg', 'op=resize&width=64', ['preset other']],
  ];
  for (const [address, query, without = []] of rows) t.match(read(address), { query, without }, address);
  t.match(read('/insecure/w:300/plain/http://x/a.jpg@webp'), { source: 'http://x/a.jpg' });

  t.match(read('/insecure/q:80/plain/http://x/a.jpg'), { reason: /no size and no format/ });
  t.match(read('/insecure/plain/http://x/a.jpg'), { reason: /no size and no format/ });
  t.match(read('/insecure/pr:other/plain/x.jpg'), { reason: /IMGPROXY_PRESETS/ });
  t.match(read('/insecure/other/plain/x.jpg'), { reason: /IMGPROXY_PRESETS/ });
  const always = readPresets('default=f:avif');
  t.match(fromImgproxy('/_/w:64/plain/x.jpg', always), { query: 'op=resize&width=64&format=avif' });
});

t.test('addresses of thumbor become transforms', async (t) => {
  const covered = 'op=resize&width=300&height=200&fit=cover';
  const rows: Array<[address: string, query: string, without?: string[]]> = [
    ['/unsafe/300x200/http://x/a.jpg', covered],
    [
      '/unsafe/fit-in/300x200/smart/filters:quality(70):format(webp)/x/a.jpg',
      'op=resize&width=300&height=200&fit=inside&quality=70&format=webp',
      ['smart'],
    ],
    ['/unsafe/300x/x/a.jpg', 'op=resize&width=300'],
    ['/unsafe/10x20:300x200/300x200/x/a.jpg', covered, ['crop']],
    ['/unsafe/trim/300x200/x/a.jpg', covered, ['trim']],
    [
      '/unsafe/trim:top-left:50/10x20:310x220/300x200/left/top/x/a.jpg',
      covered,
      ['trim', 'crop', 'across', 'down'],
    ],
    ['/unsafe/-300x200/x/a.jpg', covered, ['flip']],
    [
      '/unsafe/300x200/filters:watermark(http://x/w.png,10,10,50):format(webp):blur(3)/x/a.jpg',
      `${covered}&format=webp`,
      ['watermark', 'blur'],
    ],
    [
      '/unsafe/300x200/filters:watermark(http://x/w(1).png,1,1,0):format(webp)/x/a.jpg',
      `${covered}&format=webp`,
    ],
    ['/unsafe/filters:format(webp)/x/a.jpg', 'op=convert&format=webp'],
    ['/unsafe/full-fit-in/300x200/x/a.jpg', 'op=resize&width=300&height=200&fit=outside'],
    ['/images/unsafe/300x200/x/a.jpg', covered],
  ];
  for (const [address, query, without = []] of rows)
    t.match(fromThumbor(address), { query, without }, address);
  t.match(fromThumbor('/unsafe/300x200/filters:watermark(http://x/w.png):format(webp)/x/a.jpg'), {
    source: 'x/a.jpg',
  });
  t.match(fromThumbor('/unsafe/meta/300x200/x/a.jpg'), { reason: /metadata/ });
  t.match(fromThumbor('/unsafe/smart/x/a.jpg'), { reason: /no size and no format/ });

  for (const other of ['/healthz', '/api/v1/images/transform', '/static/300x200/a.jpg', '/', '/a/b:c/d']) {
    t.equal(fromThumbor(other), null, other);
    t.equal(fromImgproxy(other, {}), null, other);
  }
});

t.test('a log is read by the arrivals of its calls, whoever wrote it', async (t) => {
  const own = (fields: object) =>
    JSON.stringify({ level: 30, time: 1767225600500, msg: 'answered', ...fields });
  const transform = { route: '/api/v1/images/transform' };
  const text = [
    own({ ...transform, asked: 'op=resize&width=64', requestBytes: 900, durationMs: 100 }),
    own({ ...transform, query: 'op=flip', time: 1767225600700 }),
    own({ ...transform, query: 'op=flip', time: 1767225601700, requestBytes: 60, durationMs: 1_200.5 }),
    own(transform),
    own({ route: '/api/v1/account' }),
    own({ route: '/api/v1/account' }),
    own({ ...transform, msg: 'Calls were refused', reason: 'capacity', refused: 250 }),
    own({ msg: 'listening' }),
    '1.2.3.4 - - [01/Jan/2026:01:00:01 +0100] "GET /insecure/w:300/plain/x.jpg HTTP/1.1" 200 12',
    'time="2026-01-01T00:00:02Z" message="Completed in 12ms" path=/insecure/w:400/plain/y.jpg',
    'GET /insecure/w:300/plain/x.jpg without a time',
    '{"broken',
    '',
  ].join('\n');
  const recording = readRecording(text);
  t.same(recording.calls, [
    { atMs: 0, query: 'op=resize&width=64', source: null, bytes: 900 },
    { atMs: 99.5, query: 'op=flip', source: null, bytes: null },
    { atMs: 300, query: 'op=flip', source: null, bytes: null },
    { atMs: 600, query: 'op=resize&width=300', source: 'x.jpg', bytes: null },
    { atMs: 1588, query: 'op=resize&width=400', source: 'y.jpg', bytes: null },
  ]);
  t.same(Object.fromEntries(recording.leftOut), {
    'refused calls that the log only sums up: capacity': 250,
    'calls of /api/v1/account': 2,
    'transforms whose steps stood in their body': 1,
    'lines without a call': 2,
    'calls without a time': 1,
  });
  t.match(
    leftOutOf(recording),
    / Left out: refused calls .*: capacity \(250\), calls of \/api\/v1\/account \(2\), /,
  );
});

t.test('calls that queued are due together, as they arrived', async (t) => {
  const lines = Array.from({ length: 10 }, (_, index) =>
    JSON.stringify({
      time: 1767225600000 + (index + 1) * 1_000,
      route: '/api/v1/images/transform',
      query: 'op=resize&width=64',
      durationMs: (index + 1) * 1_000,
    }),
  );
  t.same(new Set(readRecording(lines.join('\n')).calls.map(({ atMs }) => atMs)), new Set([0]));
});

/** The lines of a call in the forms of imgproxy's log. */
const IMGPROXY_FORMS: Record<string, (time: string, message: string, id: string) => string> = {
  pretty: (time, message, id) =>
    `INFO    [${time}] ${message} request_id=${id} method=GET client_ip=127.0.0.1`,
  structured: (time, message, id) => `time="${time}" level="INFO" message="${message}" request_id="${id}"`,
  json: (time, message, id) => JSON.stringify({ level: 'info', message, request_id: id, time }),
};

for (const [form, line] of Object.entries(IMGPROXY_FORMS))
  t.test(`one call a request is read from imgproxy's log in its ${form} form`, async (t) => {
    const address = '/insecure/rs:fit:300:0/plain/http://x/a.jpg@webp';
    const at = (ms: number) => new Date(1767225600000 + ms).toISOString();
    const calls = Array.from({ length: 10 }, (_, index) => [
      line(at(index * 100), `Started ${address}`, `r${index}`),
      line(at(index * 100 + 50), `Completed in 50 ms ${address}`, `r${index}`),
    ]);
    const lost = line(at(2_000), `Started ${address}`, 'lost');
    const cutOff = line(at(3_000), `Completed in 1.5s ${address}`, 'before');
    const again = [
      line(at(4_000), `Started ${address}`, 'r1'),
      line(at(4_001), `Completed in 1ms ${address}`, 'r1'),
    ];
    const asItIs = ['Started', 'Completed in 3ms'].map((words) =>
      line(at(1), `${words} /_/plain/a.jpg`, 'p'),
    );
    const { calls: read, leftOut } = readRecording(
      [...calls.flat(), lost, cutOff, ...again, ...asItIs].join('\n'),
    );
    const due = [...Array.from({ length: 10 }, (_, index) => index * 100), 1_500, 2_000, 4_000];
    t.same(
      read.map(({ atMs }) => atMs),
      due,
    );
    t.same(Object.fromEntries(leftOut), {
      'second lines of a call': 12,
      'no size and no format was asked for': 1,
    });
    const newestFirst = [...calls.flat().toReversed(), lost].join('\n');
    t.equal(readRecording(newestFirst).calls.length, 11, 'the order of the lines does not matter');
  });

t.test('a duration of imgproxy is read in each of its units', async (t) => {
  const rows = { '12ms': 12, '50 ms': 50, '1.25s': 1_250, '500µs': 0.5, '1m2.5s': 62_500 };
  for (const [text, ms] of Object.entries(rows))
    t.equal(parseDurationMs(`Completed in ${text} /a`), ms, text);
  t.equal(parseDurationMs('Started /a'), null);
});

t.test('a log of whole seconds is spread over them', async (t) => {
  const line = (second: number) =>
    `- - [01/Jan/2026:00:00:0${second} +0000] "GET /unsafe/300x/x/a.jpg HTTP/1.1" 200`;
  const { calls } = readRecording([line(0), line(0), line(0), line(0), line(1)].join('\n'));
  t.same(
    calls.map(({ atMs }) => atMs),
    [0, 250, 500, 750, 1000],
  );
});

t.test('a picture of a log is always the same one, of the nearest size where it is told', async (t) => {
  const pictures = ['small', 'large'].map((name, index) => ({
    name,
    type: 'image/jpeg',
    bytes: Buffer.alloc(1_000 * 100 ** index),
  }));
  const api = { post: async (_path: string, body: object) => ({ id: 'name' in body ? body.name : '' }) };
  const one = { query: 'op=resize&width=64&format=webp', source: null, bytes: null };
  const next = await storedTransforms({ api, pictures }, [
    { ...one, bytes: 60_000 },
    { ...one, bytes: 10 },
    { ...one, source: 'a' },
    { ...one, source: 'b' },
    { ...one, source: 'a' },
  ]);
  const sent = Array.from({ length: 5 }, (_, turn) => JSON.parse(String(next(turn).body)).assetId);
  t.same(sent, ['large', 'small', 'small', 'large', 'small']);
  t.match(next(0), { path: `/api/v1/images/transform?${one.query}`, expects: { type: 'image/webp' } });
});

t.test('calls are due by a rate, by a ramp of it, or at given times', async (t) => {
  const due = (rate: Parameters<typeof dueTimes>[0]) => [
    ...dueTimes(rate, { durationMs: 100_000, random: seededRandom(1) }),
  ];
  const steady = due(20).length;
  t.ok(Math.abs(steady - 2_000) < 150, `${steady} calls`);
  const ramp = due({ from: 0, to: 40 });
  t.ok(Math.abs(ramp.length - 2_000) < 150, `${ramp.length} calls`);
  const early = ramp.filter((atMs) => atMs < 50_000).length / ramp.length;
  t.ok(Math.abs(early - 0.25) < 0.04, `${early} of the calls in the first half`);
  t.same(
    ramp,
    ramp.toSorted((a, b) => a - b),
  );
  t.same(due({ atMs: [0, 5, 100_001] }), [0, 5]);
  t.equal(meanRate({ from: 10, to: 30 }, 5), 20);
  t.equal(meanRate({ atMs: [0, 1, 2_000] }, 1), 2);
});

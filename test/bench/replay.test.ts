// needs: nothing
import t from 'tap';
import { dueTimes, meanRate } from '../../bench/load/arrivals.ts';
import { transformIn } from '../../bench/replay/addresses.ts';
import { readRecording } from '../../bench/replay/recording.ts';
import { storedTransforms } from '../../bench/suites/calls.ts';
import { seeded } from '../../workers/models/random.ts';

t.test('addresses of imgproxy and thumbor become transforms', async (t) => {
  const query = (address: string) => transformIn(address)?.query ?? null;
  const source = (address: string) => transformIn(address)?.source;
  t.equal(
    query('/insecure/rs:fill:300:200:0/q:80/plain/http://x/a.jpg@webp'),
    'op=resize&width=300&height=200&fit=cover&quality=80&format=webp',
  );
  t.equal(source('/insecure/rs:fill:300:200:0/q:80/plain/http://x/a.jpg@webp'), 'http://x/a.jpg');
  t.equal(query('/unsafe/w:512/aHR0cDovL3gvYS5qcGc.jpg'), 'op=resize&width=512&format=jpeg');
  t.equal(query(`/${'a'.repeat(43)}/resize:fit:512:0/plain/s3://b/c.png`), 'op=resize&width=512');
  t.equal(query('/insecure/f:avif/plain/http://x/a.jpg'), 'op=convert&format=avif');
  t.equal(query('/insecure/q:80/plain/http://x/a.jpg'), null, 'the picture as it is');

  t.equal(query('/unsafe/300x200/http://x/a.jpg'), 'op=resize&width=300&height=200&fit=cover');
  t.equal(
    query('/unsafe/fit-in/300x200/smart/filters:quality(70):format(webp)/x/a.jpg'),
    'op=resize&width=300&height=200&fit=inside&quality=70&format=webp',
  );
  t.equal(source('/unsafe/fit-in/300x200/smart/filters:quality(70)/x/a.jpg'), 'x/a.jpg');
  t.equal(query('/unsafe/300x/x/a.jpg'), 'op=resize&width=300');

  for (const other of ['/healthz', '/api/v1/images/transform', '/static/300x200/a.jpg', '/'])
    t.equal(transformIn(other), null, other);
});

t.test('a log is read with its times, whoever wrote it', async (t) => {
  const text = [
    '{"level":30,"time":1767225600500,"route":"/api/v1/images/transform","asked":"op=resize&width=64","requestBytes":900,"msg":"answered"}',
    '{"level":30,"time":1767225600700,"route":"/api/v1/images/transform","query":"op=flip","msg":"answered"}',
    '{"level":30,"time":1767225600400,"route":"/api/v1/account","msg":"answered"}',
    '1.2.3.4 - - [01/Jan/2026:01:00:01 +0100] "GET /insecure/w:300/plain/x.jpg HTTP/1.1" 200 12',
    'time="2026-01-01T00:00:02Z" message="Completed in 12ms" path=/insecure/w:400/plain/y.jpg',
    'GET /insecure/w:300/plain/x.jpg without a time',
    '{"broken',
    '',
  ].join('\n');
  const { calls, skipped } = readRecording(text);
  t.same(calls, [
    { atMs: 0, query: 'op=resize&width=64', source: null, bytes: 900 },
    { atMs: 200, query: 'op=flip', source: null, bytes: null },
    { atMs: 500, query: 'op=resize&width=300', source: 'x.jpg', bytes: null },
    { atMs: 1500, query: 'op=resize&width=400', source: 'y.jpg', bytes: null },
  ]);
  t.equal(skipped, 3);
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
    ...dueTimes(rate, { durationMs: 100_000, random: seeded(1) }),
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

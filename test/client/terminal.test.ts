// needs: nothing
import t from 'tap';
import { JobWatch } from '../../src/client/cli/commands/listen.ts';
import { Terminal } from '../../src/client/cli/terminal.ts';
import { InvalidParamError } from '../../src/client/index.ts';
import { ok, standIn } from './stand-in.ts';

function sink(isTTY: boolean) {
  const written: string[] = [];
  return { isTTY, columns: 60, written, write: (text: string | Uint8Array) => written.push(String(text)) };
}

t.test('a terminal has a bar on stderr, which results do not tear', async (t) => {
  const [stdout, stderr] = [sink(true), sink(true)];
  const terminal = new Terminal(stdout, stderr);
  terminal.showProgress(1, 4, 'photo.jpg');
  t.match(stderr.written.join(''), /\[#{6}\.{18}\] 1\/4 photo\.jpg$/);
  terminal.writeResult({ input: 'photo.jpg' }, 'photo.jpg is done');
  t.same(stdout.written, ['photo.jpg is done\n']);
  t.match(stderr.written.at(-1), /1\/4/, 'the bar is drawn again below it');
  terminal.showProgress(2, 4, 'x'.repeat(200));
  t.ok((stderr.written.at(-1)?.length ?? 0) < 70, 'it never breaks the line');
  terminal.endProgress();
  t.equal(stderr.written.at(-1), '\r\x1b[K');
  const unsized = { ...sink(true), columns: 0 };
  new Terminal(stdout, unsized).showProgress(2, 4, 'photo.jpg');
  t.match(unsized.written.join(''), /photo\.jpg$/, 'a terminal without a width shows it whole');
});

t.test('elsewhere results are NDJSON, and there is no bar', async (t) => {
  const [stdout, stderr] = [sink(false), sink(false)];
  const terminal = new Terminal(stdout, stderr);
  terminal.showProgress(1, 4);
  terminal.writeResult({ input: 'photo.jpg' }, 'photo.jpg is done');
  t.same([stdout.written, stderr.written], [['{"input":"photo.jpg"}\n'], []]);
  const facts = {
    status: 400,
    code: 'invalid_param',
    message: 'There is no widht.',
    retryable: false,
  } as const;
  const fix = [{ param: 'widht', rename: 'width' }];
  terminal.writeFailure(new InvalidParamError({ ...facts, details: { fix } }), 'photo.jpg');
  t.match(stderr.written, [`photo.jpg: There is no widht. fix: ${JSON.stringify(fix)}\n`]);
  const mistakes = [
    { param: 'widht', fix },
    { param: 'zzqx', message: 'There is no zzqx.' },
  ];
  terminal.writeFailure(new InvalidParamError({ ...facts, details: { mistakes } }), 'photo.jpg');
  t.equal(stderr.written.at(-1), `photo.jpg: There is no widht. mistakes: ${JSON.stringify(mistakes)}\n`);
});

t.test('a watch tells every job that ends once, and none that had ended before', async (t) => {
  const job = (id: string, status: string, createdAt: string) => ({ id, status, createdAt });
  const jobs = new Map([
    ['job_1', job('job_1', 'COMPLETED', '2026-01-01T00:00:01.000Z')],
    ['job_2', job('job_2', 'PROCESSING', '2026-01-01T00:00:02.000Z')],
  ]);
  const { client } = standIn([
    ({ at }) => {
      const { pathname, searchParams } = new URL(at, 'http://service.test');
      const one = jobs.get(pathname.split('/').at(-1) ?? '');
      if (one !== undefined) return ok(one);
      const [status, from] = [searchParams.get('status'), searchParams.get('createdFrom') ?? ''];
      const rows = [...jobs.values()]
        .reverse()
        .filter((row) => (status === null || row.status === status) && row.createdAt >= from);
      return ok(rows, { meta: { perPage: 100, hasMore: false, nextCursor: null } });
    },
  ]);
  const stopped = new AbortController();
  // What happens before each look.
  const changes = [
    () => {
      jobs.set('job_2', job('job_2', 'FAILED', '2026-01-01T00:00:02.000Z'));
      jobs.set('job_3', job('job_3', 'COMPLETED', '2026-01-01T00:00:03.000Z'));
      jobs.set('job_4', job('job_4', 'PENDING', '2026-01-01T00:00:03.000Z'));
    },
    () => {},
    () => jobs.set('job_4', job('job_4', 'CANCELLED', '2026-01-01T00:00:03.000Z')),
    () => {},
    () => stopped.abort(new Error('enough')),
  ];
  const clock = {
    now: () => 0,
    async sleep(_: number, signal?: AbortSignal) {
      changes.shift()?.();
      signal?.throwIfAborted();
    },
  };
  const told: string[] = [];
  const watching = async () => {
    const watch = await JobWatch.open(client, clock, stopped.signal);
    for await (const { id, status } of watch.endedJobs(stopped.signal)) told.push(`${id} ${status}`);
  };
  await t.rejects(watching(), { message: 'enough' });
  t.same(told, ['job_2 FAILED', 'job_3 COMPLETED', 'job_4 CANCELLED']);
});

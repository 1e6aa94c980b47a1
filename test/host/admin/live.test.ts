// needs: service
import { mkdir, readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { askPrimary } from '../../../src/host/admin/socket.ts';
import { OPERATOR } from '../../support/operator.ts';
import { startWholeService, until, type WholeService } from '../../support/whole-service.ts';

interface Shown {
  processes: Array<{
    hostId: string;
    processId: string;
    image: { threads: number };
    logLevel: string;
    [name: string]: unknown;
  }>;
}

/** Lines of the service's log. */
function logged({ printed }: WholeService): Array<Record<string, unknown>> {
  return printed()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
}

t.test('each change is a line of the log, and one that cannot be kept is an error', async (t) => {
  const folder = join(t.testdir(), 'absent');
  const service = await startWholeService(t, {
    PROCESSES: '1',
    IMAGE_THREADS: '1',
    ENV_FILE: join(folder, 'darkroom.env'),
  });
  const admin = (...words: string[]) => askPrimary(service.directory, words, OPERATOR);
  await t.rejects(admin('set', 'IMAGE_THREADS=2', '--save'), {
    message: /IMAGE_THREADS is 2 until the next start, .*absent\/darkroom\.env: ENOENT.*ENV_FILE/,
  });
  await mkdir(folder);
  t.match((await admin('set', 'IMAGE_THREADS=3', '--save'))?.text, /saved .*absent\/darkroom\.env/);
  t.equal(await readFile(join(folder, 'darkroom.env'), 'utf8'), 'IMAGE_THREADS=3\n');
  await admin('log', 'error');
  await admin('log', 'info');
  const shown = (await admin('pools'))?.data as unknown as Shown;
  await admin('drain', `${shown.processes[0]?.hostId}/1`);
  service.signal('SIGHUP');
  await until(() => logged(service).some(({ msg }) => /replaced one by one/.test(String(msg))));
  const { by } = OPERATOR;
  t.match(
    logged(service).filter((line) => 'by' in line || 'after' in line),
    [
      { by, setting: 'IMAGE_THREADS', before: 1, after: 2 },
      { by, setting: 'IMAGE_THREADS', before: 2, after: 3 },
      { by, before: 'info', after: 'error', process: 1 },
      { by, before: 'error', after: 'info', process: 1 },
      { by, replaced: '1' },
      { by: 'SIGHUP' },
      // A spare process may have taken a number between them.
      { before: [Number], after: [Number] },
    ],
  );
});

t.test('an operator sees and changes the pools of a running service', async (t) => {
  const service = await startWholeService(t, { PROCESSES: '2' });
  const admin = async (...words: string[]) => {
    const answer = await askPrimary(service.directory, words, OPERATOR);
    if (answer === null) throw new Error('The primary does not answer.');
    return { ...answer, shown: answer.data as unknown as Shown };
  };
  const before = await admin('pools');
  t.equal(before.shown.processes.length, 2);
  t.match(before.text, /process +pid +MB/);
  const fields = ['hostId', 'processId', 'pid', 'rssBytes', 'uptimeSeconds', 'deployment', 'logLevel'];
  const others = ['clockDifferenceMs', 'settings', 'image', 'slow', 'heavy', 'batch', 'render'];
  t.same(Object.keys(before.shown.processes[0] ?? {}), [...fields, ...others], 'and nothing of its settings');

  const beyond = await admin('set', 'IMAGE_THREADS=3');
  if (availableParallelism() < 6) t.match(beyond.text, /PROCESSES × IMAGE_THREADS is 2 × 3 on \d+ cores/);
  const threadsNow = async () => (await admin('pools')).shown.processes.map(({ image }) => image.threads);
  t.same(await threadsNow(), [3, 3]);
  await admin('set', 'PROCESSES=3');
  t.same(await threadsNow(), [3, 3, 3], 'a new process has what was set before');
  const environments = await Promise.all(
    (await service.children()).map((pid) => readFile(`/proc/${pid}/environ`, 'utf8')),
  );
  const threadsOf = (environment: string) => /UV_THREADPOOL_SIZE=(\d+)/.exec(environment)?.[1];
  t.same(environments.map(threadsOf).sort(), ['10', '8', '8'], 'and libuv’s threads for it');
  const shrunk = await admin('set', 'PROCESSES=2');
  t.equal(
    shrunk.text.trim().split('\n').length,
    4,
    'the primary answers, and each process, the one that ends too',
  );
  await admin('log', 'warn', '--for', '10m');
  t.ok((await admin('pools')).shown.processes.every(({ logLevel }) => logLevel === 'warn'));

  const [first] = (await admin('pools')).shown.processes;
  await admin('drain', `${first?.hostId}/${first?.processId}`);
  const drained = await admin('pools');
  t.equal(drained.shown.processes.length, 2);
  t.notOk(drained.shown.processes.some(({ processId }) => processId === first?.processId));
  t.equal((await fetch(`${service.url}/healthz`)).status, 200);

  for (const [words, sentence] of [
    [['set', 'DATA_DIR=x'], /PROCESSES, IMAGE_THREADS, .*, JOB_ITEMS, WEBHOOK_CONCURRENCY can/],
    [['set', 'IMAGE_WAIT_MS=1'], /50 to 60000/],
    [['set', 'IMAGE_THREADS=64'], /IMAGE_THREADS=64 is more than 4 for each core.*--yes/],
    [['set', 'PROCESSES=256'], /PROCESSES=256 is more than 4 for each core.*--yes/],
    [['set', 'IMAGE_THREADS=0'], /1 to 64/],
    [['drain', 'nobody/1'], /No host nobody/],
    [['drain', `${first?.hostId}/999`], /no process 999/],
    [['drain', 'x'], /HOST\/PROCESS/],
    [['log', 'loud'], /"loud" is not a level/],
    [['log', 'info', '--for', '10'], /10m/],
  ] as const) {
    const outcome = await admin(...words).then(
      ({ text }) => text,
      (error: Error) => error.message,
    );
    t.match(outcome, sentence, words.join(' '));
  }
});

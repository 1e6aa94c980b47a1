// needs: server
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { askPrimary } from '../../src/host/admin/socket.ts';
import { OPERATOR } from '../support/operator.ts';
import { startWholeService, until, type WholeService, withoutStores } from '../support/whole-service.ts';

const MAIN = join(import.meta.dirname, '../../bench/tune/main.ts');
const CALLERS = 3;
const INITIAL = { PROCESSES: '1', IMAGE_THREADS: '1' };

/** A small steady load, whose every answer is looked at. Ends with `stop`. */
async function steadyLoad({ url, key }: WholeService) {
  const body = new Uint8Array(
    await sharp({ create: { width: 300, height: 200, channels: 3, background: '#48c' } })
      .jpeg()
      .toBuffer(),
  );
  const headers = { authorization: `ApiKey ${key}`, 'content-type': 'image/jpeg' };
  const wrong: string[] = [];
  let right = 0;
  let isOver = false;
  async function call(): Promise<void> {
    const answer = await fetch(`${url}/api/v1/images/transform?op=resize&width=40&format=png`, {
      ...{ method: 'POST', headers, body },
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (!answer.ok) throw new Error(`${answer.status} ${bytes.toString('utf8')}`);
    const { width } = await sharp(bytes).metadata();
    if (width !== 40) throw new Error(`The width is ${width}.`);
  }
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!isOver) {
      await call().then(
        () => {
          right += 1;
        },
        (error: Error) => void wrong.push(`${error.message} ${String(error.cause ?? '')}`),
      );
      await pause(15);
    }
  });
  return {
    async stop() {
      isOver = true;
      await Promise.all(callers);
      return { right, wrong };
    },
  };
}

function startTune(
  t: Test,
  { url, directory }: WholeService,
  environment: Record<string, string>,
  words: string[],
) {
  const all = ['--live', '--url', url, '--minutes-each', '0.05', '--pairs', '2', ...words];
  const tune = spawn(process.execPath, [MAIN, ...all], {
    env: { ...withoutStores(process.env), DATA_DIR: directory, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => void tune.kill('SIGKILL'));
  let printed = '';
  for (const stream of [tune.stdout, tune.stderr]) stream.on('data', (chunk) => (printed += chunk));
  const ended = new Promise<number | null>((resolve) => tune.once('exit', resolve));
  return { tune, ended, printed: () => printed };
}

async function inForce({ directory }: WholeService) {
  const answer = await askPrimary(directory, ['pools'], OPERATOR);
  const { processes = [] } = (answer?.data ?? {}) as { processes?: Array<{ image: { threads: number } }> };
  return { PROCESSES: processes.length, IMAGE_THREADS: processes[0]?.image.threads };
}

t.test(
  'the running service is tuned under its load: every call is right, and nothing stays changed',
  async (t) => {
    const folder = t.testdir({ 'darkroom.env': '# mine\nREQUESTS_PER_MINUTE=1000000\n' });
    const ENV_FILE = join(folder, 'darkroom.env');
    const service = await startWholeService(t, {
      ...INITIAL,
      METRICS_TOKEN: 'token-of-the-metrics',
      ENV_FILE,
    });
    const load = await steadyLoad(service);
    const environment = { METRICS_TOKEN: 'token-of-the-metrics', ENV_FILE };
    const { ended, printed } = startTune(t, service, environment, [
      ...['--save', '--minutes', '0.5', '--out', join(folder, 'out')],
    ]);
    const code = await ended;
    const { right, wrong } = await load.stop();
    t.equal(code, 0, printed());
    t.same(wrong, []);
    t.ok(right > 100);
    t.same(await inForce(service), { PROCESSES: 1, IMAGE_THREADS: 1 });
    t.match(printed(), /In force: PROCESSES=1 IMAGE_THREADS=1 RENDER_THREADS=1 IMAGE_QUEUE=64\./);
    t.match(printed(), /PROCESSES 1 → 2/);
    t.match(printed(), /The time was over/);
    const [, file = ''] = /→ (\S*tune-live-\S+\.json)/.exec(printed()) ?? [];
    const { trials, recommended } = JSON.parse(await readFile(file, 'utf8'));
    for (const { base, candidate } of trials[0].pairs) t.ok(base.right + candidate.right > 0);
    // The file has what is better, where anything is, and keeps its own lines.
    const kept = await readFile(ENV_FILE, 'utf8');
    t.match(kept, /^# mine\nREQUESTS_PER_MINUTE=1000000\n/);
    t.equal(/PROCESSES=2/.test(kept), recommended.PROCESSES === 2);
  },
);

t.test('a lost terminal puts back what was in force, and leaves what was measured', async (t) => {
  const folder = t.testdir();
  const service = await startWholeService(t, INITIAL);
  const load = await steadyLoad(service);
  const { tune, ended, printed } = startTune(t, service, {}, ['--out', folder]);
  // The line of the log stays, while the value itself may be gone back to within a moment.
  await until(
    () => /"setting":"PROCESSES","before":1,"after":2/.test(service.printed()) || tune.exitCode !== null,
  );
  tune.kill('SIGHUP');
  t.equal(await ended, 129, printed());
  t.match(printed(), /Stopped\. .*In force again: PROCESSES=1/);
  t.same(await inForce(service), { PROCESSES: 1, IMAGE_THREADS: 1 });
  t.same((await load.stop()).wrong, []);
});

t.test('without a service it says the way out', async (t) => {
  const DATA_DIR = t.testdir();
  const words = ['--live', '--minutes-each', '0.1'];
  const tune = spawn(process.execPath, [MAIN, ...words], {
    env: { ...withoutStores(process.env), DATA_DIR },
    stdio: 'pipe',
  });
  let printed = '';
  tune.stderr.on('data', (chunk) => (printed += chunk));
  t.equal(await new Promise((resolve) => tune.once('exit', resolve)), 1);
  t.match(printed, /No service runs on DATA_DIR/);
});

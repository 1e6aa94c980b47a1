// needs: service
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { until } from '../../support/whole-service.ts';

const ROOT = join(import.meta.dirname, '../../..');
/** Scripts that end by themselves within seconds, or that are a row of commands. */
const SHORT = ['check', 'settings', 'metrics', 'references', 'gallery', 'client:types', 'client:pack'];

t.test('a signal to npm ends what npm start runs, as supervisors send it', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-npm-'));
  const { REDIS_URL, MONGODB_URL, ...environment } = process.env;
  const npm = spawn('npm', ['start'], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...environment, PORT: '0', DATA_DIR: directory, PROCESSES: '1' },
  });
  const ended = new Promise((resolve) => npm.once('exit', resolve));
  t.teardown(async () => {
    for (const pid of await processesOn(directory)) process.kill(pid, 'SIGKILL');
    await rm(directory, { recursive: true, force: true });
  });
  let printed = '';
  for (const stream of [npm.stdout, npm.stderr]) {
    stream.on('data', (chunk) => {
      printed += chunk;
    });
  }
  await until(() => /listening on http/.test(printed) || npm.exitCode !== null);
  t.match(printed, /listening on http/);
  t.ok((await processesOn(directory)).length > 2, 'npm, the primary and a process run');
  npm.kill('SIGTERM');
  await ended;
  await until(async () => (await processesOn(directory)).length === 0);
  t.same(await processesOn(directory), [], 'nothing is left of the service');
});

t.test('every script that runs on takes the place of its shell, so that a signal reaches it', async (t) => {
  const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  for (const [name, command] of Object.entries(scripts)) {
    if (!SHORT.includes(name)) t.match(command, /^exec node /, name);
  }
});

/** Processes that were started with this data directory. */
async function processesOn(directory: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const environments = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')),
  );
  return pids.filter((_pid, index) => environments[index]?.includes(`DATA_DIR=${directory}\0`));
}

// needs: service
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { bareEnvironment, MAIN, startWholeService, until } from '../../support/whole-service.ts';

t.test(
  'a reader that ends stops the log, not the service, and a key that nobody read is made again',
  async (t) => {
    const service = await startWith(t, 'pipe');
    service.child.stdout?.destroy();
    await until(() => answers(service.port));
    await until(() => /Nobody read the first key/.test(service.complaints()));
    t.equal(await answers(service.port), true);
    t.equal(await service.stop(), 0);
    const again = await startWholeService(t, {
      PROCESSES: '1',
      DATA_DIR: service.directory,
      BOOTSTRAP_API_KEY: '',
    });
    t.match(again.printed(), /\n\nexport KEY=drk_[0-9A-Za-z]{32,}\n\n/);
  },
);

t.test('a log on a full disk stops neither the calls nor the end of the service', async (t) => {
  const full = openSync('/dev/full', 'w');
  const service = await startWith(t, full);
  closeSync(full);
  await until(() => answers(service.port));
  t.equal(await answers(service.port), true);
  t.equal(await service.stop(), 0);
});

t.test('whoever waits until the service is ready can read the first key by then', async (t) => {
  const path = join(t.testdir(), 'output');
  const file = openSync(path, 'w');
  const service = await startWith(t, file);
  closeSync(file);
  await until(() => answers(service.port, '/readyz'));
  t.match(await readFile(path, 'utf8'), /\n\nexport KEY=drk_[0-9A-Za-z]{32,}\n\n/);
});

/** The primary with one process, whose output goes where it is told. */
async function startWith(t: Test, stdout: 'pipe' | number) {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-output-'));
  const port = await freePort();
  const child = spawn(process.execPath, [MAIN], {
    stdio: ['ignore', stdout, 'pipe'],
    env: bareEnvironment({ PORT: String(port), PROCESSES: '1', DATA_DIR: directory }),
  });
  let complaints = '';
  child.stderr?.on('data', (chunk) => {
    complaints += chunk;
  });
  const ended = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGTERM');
    const [code] = await ended;
    return code as number | null;
  };
  t.teardown(async () => {
    await stop();
    await rm(directory, { recursive: true, force: true });
  });
  return { child, port, directory, complaints: () => complaints, stop };
}

async function answers(port: number, path = '/healthz'): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => null);
  return answer?.status === 200;
}

async function freePort(): Promise<number> {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  await new Promise((resolve) => holder.close(resolve));
  return port;
}

// needs: service
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import t from 'tap';
import { bareEnvironment, childrenOf, MAIN, startWholeService, until } from '../../support/whole-service.ts';
import { startClients } from './kept-clients.ts';

const body = await sharp({ create: { width: 64, height: 48, channels: 3, background: '#336699' } })
  .jpeg()
  .toBuffer();

/** The pids of all processes below one. */
async function descendantsOf(pid: number): Promise<number[]> {
  const listed = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const children = listed.split(' ').filter(Boolean).map(Number);
  return [...children, ...(await Promise.all(children.map(descendantsOf))).flat()];
}

t.test('signals that a terminal or a tool sends to all processes at once break no call', async (t) => {
  // Each pass runs in a child process, as slow ones do.
  const service = await startWholeService(t, { PROCESSES: '1', IMAGE_ISOLATION: 'process' });
  const calls = startClients(service, 4, { body, width: 8 });
  await until(() => calls.answered > 10);
  const before = await service.children();

  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) {
    service.signal(signal);
    await until(() => service.printed().includes(`${signal} does nothing: SIGHUP replaces`));
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const) {
    const sentAt = calls.answered;
    for (const pid of await descendantsOf(service.pid)) process.kill(pid, signal);
    await until(() => calls.answered > sentAt + 8);
  }
  t.same(await service.children(), before, 'no process was replaced');
  t.notMatch(service.printed(), /Debugger listening|An image worker was lost/);

  service.signal('SIGINT');
  for (const pid of await descendantsOf(service.pid)) process.kill(pid, 'SIGINT');
  t.equal(await service.ended, 0);
  await calls.stop();
  t.same(
    calls.failed.filter((fault) => !fault.startsWith('connect')),
    [],
  );
});

t.test('a reload during the start, from the loading of the code on, does not end it', async (t) => {
  // The path of a fixture is too long for the socket of the operator's commands.
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-reload-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const settings = { PORT: '0', PROCESSES: '1', DATA_DIR: directory };
  const child = spawn(process.execPath, [MAIN], { env: bareEnvironment(settings) });
  const ended = once(child, 'exit');
  const pid = child.pid ?? 0;
  let printed = '';
  child.stdout.on('data', (chunk) => {
    printed += chunk;
  });
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  // Node.js itself listens to no signal before it runs the first line.
  await until(async () => (await catchesReload(pid)) || hasEnded());
  child.kill('SIGHUP');
  await until(async () => (await childrenOf(pid)).length > 0 || hasEnded());
  child.kill('SIGHUP');
  await until(() => /listening on http/.test(printed) || hasEnded());
  t.match(printed, /listening on http/);
  t.notMatch(printed, /is replaced/, 'there was nothing to replace');
  child.kill('SIGTERM');
  t.same(await ended, [0, null]);
});

/** Whether a process has a listener for SIGHUP, the first of the signals. */
async function catchesReload(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const [, caught = '0'] = /^SigCgt:\s+([0-9a-f]+)/m.exec(status) ?? [];
  return (BigInt(`0x${caught}`) & 1n) === 1n;
}

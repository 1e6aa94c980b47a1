// needs: service
import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import t from 'tap';
import { startWholeService, until } from '../../support/whole-service.ts';
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

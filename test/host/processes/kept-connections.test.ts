// needs: service
import sharp from 'sharp';
import t from 'tap';
import { startWholeService, until, type WholeService } from '../../support/whole-service.ts';
import { startClients } from './kept-clients.ts';

const CLIENTS = 8;
const WINDOW = 30;
const SETTINGS = { PROCESSES: '2', LOG_LEVEL: 'info', SYNC_CALLS_PER_ACCOUNT: '100' };
const body = await sharp({ create: { width: 64, height: 48, channels: 3, background: '#336699' } })
  .jpeg()
  .toBuffer();
const call = { body, width: 8 };

/** How far the log of a service was read, and what was counted until there. */
const counted = new WeakMap<WholeService, { length: number; counts: Map<number, number> }>();

/** Answered transforms by process: each line of the log names its process. */
function answeredBy(service: WholeService): Map<number, number> {
  const log = service.printed();
  const { length, counts } = counted.get(service) ?? { length: 0, counts: new Map<number, number>() };
  const end = log.lastIndexOf('\n') + 1;
  const lines = log.slice(length, end);
  for (const [, process] of lines.matchAll(/"process":(\d+),[^\n]*"route":"\/api\/v1\/images\/transform"/g))
    counts.set(Number(process), (counts.get(Number(process)) ?? 0) + 1);
  counted.set(service, { length: end, counts });
  return new Map(counts);
}

/** Whether, of the calls answered since, each of so many processes had at least half of an equal share. */
function isEven(service: WholeService, since: Map<number, number>, processes: number): boolean {
  const counts = [...answeredBy(service)]
    .map(([process, count]) => count - (since.get(process) ?? 0))
    .filter((count) => count > 0);
  const all = counts.reduce((sum, count) => sum + count, 0);
  return counts.filter((count) => count >= all / processes / 2).length === processes;
}

/** Looks at windows of calls until in one of them all processes were busy; at most so many windows. */
async function untilEven(service: WholeService, processes: number, windows = 40): Promise<boolean> {
  for (let window = 0; window < windows; window += 1) {
    const since = answeredBy(service);
    const before = sumOf(since);
    await until(() => sumOf(answeredBy(service)) >= before + WINDOW);
    if (isEven(service, since, processes)) return true;
  }
  return false;
}

function sumOf(counts: Map<number, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

async function released({ url }: WholeService): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^darkroom_connections_released_total (\d+)/m.exec(text)?.[1] ?? Number.NaN);
}

t.test('clients that keep their connections reach the processes that came later', async (t) => {
  const service = await startWholeService(t, SETTINGS);
  const clients = startClients(service, CLIENTS, call);
  t.teardown(() => clients.stop());

  await t.test('the process that took the place of a killed one', async (t) => {
    await until(() => sumOf(answeredBy(service)) >= 30);
    t.same(clients.failed, []);
    const [victim = 0] = await service.children();
    process.kill(victim, 'SIGKILL');
    await until(async () => (await service.children()).filter((pid) => pid !== victim).length === 2);
    t.ok(await untilEven(service, 2), 'the new process has its share');
    t.ok((await released(service)) > 0, 'connections were released');
    t.ok(clients.failed.length <= CLIENTS, 'nothing failed but what the killed process had in hand');
  });

  await t.test('and those of a rolling replacement, without a failed call', async (t) => {
    clients.failed.length = 0;
    const before = await service.children();
    service.signal('SIGHUP');
    await until(async () => {
      const now = await service.children();
      return now.length === 2 && !now.some((pid) => before.includes(pid));
    });
    t.ok(await untilEven(service, 2));
    t.same(clients.failed, []);
  });
});

t.test('one process closes no connection, whatever waits', async (t) => {
  const service = await startWholeService(t, { ...SETTINGS, PROCESSES: '1' });
  const clients = startClients(service, CLIENTS, call);
  t.teardown(() => clients.stop());
  await until(() => sumOf(answeredBy(service)) >= 100);
  t.equal(await released(service), 0);
  t.same(clients.failed, []);
});

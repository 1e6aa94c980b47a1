// needs: server
import { Agent, request } from 'node:http';
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { startWholeService, until, type WholeService } from '../../support/whole-service.ts';

t.setTimeout(180_000);

const CLIENTS = 8;
const WINDOW = 60;
const SETTINGS = { PROCESSES: '2', LOG_LEVEL: 'info', SYNC_CALLS_PER_ACCOUNT: '100' };
const picture = sharp({ create: { width: 1600, height: 1200, channels: 3, background: '#336699' } })
  .jpeg()
  .toBuffer();

/**
 * Clients that keep one connection each, and send their next call as soon as they have the answer to the one before.
 */
function keptClients(t: Test, service: WholeService, body: Buffer) {
  const agents = Array.from({ length: CLIENTS }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  const state = { stopped: false, failed: [] as string[] };
  const running = Promise.all(
    agents.map(async (agent) => {
      for (let call = 0; call < 20_000 && !state.stopped; call += 1) {
        const fault = await transform(service, agent, body);
        if (fault !== null) state.failed.push(fault);
      }
    }),
  );
  t.teardown(async () => {
    state.stopped = true;
    await running;
    for (const agent of agents) agent.destroy();
  });
  return state;
}

function transform({ url, key }: WholeService, agent: Agent, body: Buffer): Promise<string | null> {
  return new Promise((resolve) => {
    const call = request(
      `${url}/api/v1/images/transform?op=resize&width=800`,
      { agent, method: 'POST', headers: { authorization: `ApiKey ${key}`, 'content-type': 'image/jpeg' } },
      (response) => {
        response.resume();
        response.once('error', (error) => resolve(`broken: ${error.message}`));
        response.once('end', () =>
          resolve(response.statusCode === 200 ? null : `status ${response.statusCode}`),
        );
      },
    );
    call.once('error', (error) => resolve(`broken: ${error.message}`));
    call.end(body);
  });
}

/** Answered transforms by process: each line of the log names its process. */
function answeredBy(service: WholeService): Map<number, number> {
  const counts = new Map<number, number>();
  for (const [, process] of service
    .printed()
    .matchAll(/"process":(\d+),[^\n]*"route":"\/api\/v1\/images\/transform"/g))
    counts.set(Number(process), (counts.get(Number(process)) ?? 0) + 1);
  return counts;
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
  const clients = keptClients(t, service, await picture);

  await t.test('the process that took the place of a killed one', async (t) => {
    await until(() => sumOf(answeredBy(service)) >= 50);
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
  const clients = keptClients(t, service, await picture);
  await until(() => sumOf(answeredBy(service)) >= 200);
  t.equal(await released(service), 0);
  t.same(clients.failed, []);
});

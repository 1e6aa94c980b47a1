// needs: service
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import t from 'tap';
import {
  bareEnvironment,
  childrenOf,
  MAIN,
  startWholeService,
  until,
  type WholeService,
} from '../../support/whole-service.ts';
import { startClients, transform } from './kept-clients.ts';

const body = await sharp({ create: { width: 64, height: 48, channels: 3, background: '#336699' } })
  .jpeg()
  .toBuffer();
const call = { body, width: 8 };

t.test('processes are killed, replaced and stopped under load', async (t) => {
  const service = await startWholeService(t, { PROCESSES: '2', SYNC_CALLS_PER_ACCOUNT: '12' });

  await t.test(
    'kill -9 of a process: the others serve on, a new one comes, its places are free again',
    async (t) => {
      const [victim = 0] = await service.children();
      // Only what the victim held breaks; the places it held are refused to nobody for longer than it takes to bury it.
      const isExpected = (fault: string) => fault.startsWith('broken') || fault === 'status 429';
      const calls = startClients(service, 12, call, isExpected);
      await until(() => calls.answered > 30);
      process.kill(victim, 'SIGKILL');
      await until(async () => {
        const now = await service.children();
        return now.length === 2 && !now.includes(victim);
      });
      const replacedAt = calls.answered;
      await until(() => calls.answered > replacedAt + 30);
      await calls.stop();
      t.same(calls.failed, []);
      const all = await Promise.all(Array.from({ length: 12 }, () => transform(service, call)));
      t.same(all, Array(12).fill(null), 'all twelve places of the account are free');
    },
  );

  await t.test('SIGHUP replaces every process without a failed call', async (t) => {
    const before = await service.children();
    const calls = startClients(service, 6, call);
    await until(() => calls.answered > 30);
    service.signal('SIGHUP');
    await until(async () => {
      const now = await service.children();
      return now.length === 2 && now.every((pid) => !before.includes(pid));
    });
    const replacedAt = calls.answered;
    await until(() => calls.answered > replacedAt + 30);
    await calls.stop();
    t.same(calls.failed, []);
    t.equal(before.length, 2);
  });

  await t.test('SIGTERM: every accepted call is answered, then the service ends with 0', async (t) => {
    const calls = startClients(service, 6, call, (fault) => fault.startsWith('connect'));
    await until(() => calls.answered > 50);
    service.signal('SIGTERM');
    t.equal(await service.ended, 0);
    await calls.stop();
    t.same(calls.failed, []);
  });
});

t.test('no connection is lost while processes come and go', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-starting-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const starting = startWholeService(t, { PROCESSES: '2', DATA_DIR: directory });

  await t.test('a process that dies while it starts is replaced, and the service starts', async (t) => {
    let victim = 0;
    await until(async () => {
      const primary = await readFile(join(directory, 'server.pid'), 'utf8').catch(() => '');
      [victim = 0] = primary === '' ? [] : await childrenOf(Number(primary));
      return victim !== 0;
    });
    process.kill(victim, 'SIGKILL');
    const service = await starting;
    const children = await service.children();
    t.equal(children.length, 2);
    t.notOk(children.includes(victim));
    t.equal(await transform(service, call), null);
  });

  const service = await starting;
  await t.test(
    'a connection handed to a process that dies before it takes it is served by another',
    async (t) => {
      const [victim = 0] = await service.children();
      await stopped(victim);
      let answered = 0;
      const calls = Array.from({ length: 6 }, async () => {
        const status = await statusOverNewConnection(`${service.url}/healthz`);
        answered += 1;
        return status;
      });
      // One waits for the stopped process; the other process takes the rest.
      await until(() => answered === 5);
      process.kill(victim, 'SIGKILL');
      t.same(await Promise.all(calls), [200, 200, 200, 200, 200, 200]);
    },
  );

  await t.test(
    'SIGTERM answers the connections that wait in the kernel and in the primary, then refuses',
    async (t) => {
      await stopped(service.pid);
      let sent = 0;
      const calls = Array.from({ length: 12 }, () =>
        statusOverNewConnection(`${service.url}/healthz`, () => {
          sent += 1;
        }),
      );
      await until(() => sent === calls.length);
      service.signal('SIGTERM');
      service.signal('SIGCONT');
      t.same(await Promise.all(calls), Array(12).fill(200));
      t.equal(await service.ended, 0);
      t.match(await statusOverNewConnection(`${service.url}/healthz`), /ECONNREFUSED/);
    },
  );
});

t.test('a service of one process', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-open-'));
  await chmod(directory, 0o755);
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const settings = { PROCESSES: '1', DATA_DIR: directory, BOOTSTRAP_API_KEY: '', HANG_TIMEOUT_MS: '4000' };
  const first = await startWholeService(t, settings);
  const [, key = ''] = /API key: +(drk_[0-9A-Za-z]{32,})/.exec(first.printed()) ?? [];
  const [, password = ''] = /password: (\S+)/.exec(first.printed()) ?? [];
  t.not(key, '', 'the first start prints a key');

  await t.test('what is stored is nobody else’s to read, whatever the directory allows', async (t) => {
    t.equal((await template(first, key, 'POST')).status, 201);
    for (const name of await readdir(directory)) {
      t.equal((await stat(join(directory, name))).mode & 0o077, 0, name);
    }
  });

  await t.test('kill -9 takes the processes along', async (t) => {
    const children = await first.children();
    first.signal('SIGKILL');
    await first.ended;
    await until(() => children.every((pid) => !isAlive(pid)));
    t.equal(children.length, 1);
  });

  const second = await startWholeService(t, settings);
  await t.test('the next start prints no secret and has all that was acknowledged', async (t) => {
    t.notMatch(second.printed(), /API key|password/);
    const { data } = (await (await template(second, key, 'GET')).json()) as { data: Array<{ name: string }> };
    t.same(
      data.map(({ name }) => name),
      ['kept'],
    );
    const logs = (first.printed() + second.printed()).split('\n').filter((line) => line.startsWith('{'));
    t.ok(logs.length > 3, 'there are log lines');
    for (const secret of [key, password])
      t.notOk(
        logs.some((line) => line.includes(secret)),
        'no secret is in a log line',
      );
  });

  await t.test('a second server on one data directory says who holds it and exits 1', async (t) => {
    const other = spawnSync(process.execPath, [MAIN], {
      encoding: 'utf8',
      env: bareEnvironment({ PORT: '0', DATA_DIR: directory }),
    });
    t.equal(other.status, 1);
    t.match(other.stderr, new RegExp(`in use by another server \\(process ${second.pid}\\)`));
  });

  const metrics = async () => (await fetch(`${second.url}/metrics`)).text();
  const untilServed = () => until(() => transform({ ...second, key }, call).then((fault) => fault === null));

  await t.test('a process that hangs is noticed, killed and replaced', async (t) => {
    const restarts = async () => (await metrics()).match(/^darkroom_process_restarts_total\{.*$/gm);
    const none = ['exit', 'signal', 'memory', 'hung'].map(
      (reason) => `darkroom_process_restarts_total{reason="${reason}"} 0`,
    );
    t.same(await restarts(), none, 'each reason begins at zero');
    const [victim = 0] = await second.children();
    process.kill(victim, 'SIGSTOP');
    await until(async () => {
      const now = await second.children();
      return now.length === 1 && !now.includes(victim);
    });
    t.match(second.printed(), /An API process hangs: it is killed and replaced/);
    await untilServed();
    t.same(await restarts(), [...none.slice(0, 3), 'darkroom_process_restarts_total{reason="hung"} 1']);
  });

  await t.test(
    'a connection to the only process is closed, and does not hang, when the process dies',
    async (t) => {
      const [victim = 0] = await second.children();
      await stopped(victim);
      let sent = 0;
      const call = statusOverNewConnection(`${second.url}/healthz`, () => {
        sent += 1;
      });
      await until(() => sent === 1);
      process.kill(victim, 'SIGKILL');
      t.equal(await call, 'read ECONNRESET');
      await untilServed();
    },
  );

  await t.test('a spare process takes the place of one that dies, at the same address', async (t) => {
    const aSpare = async (others: readonly number[] = []) => {
      let spare: number | undefined;
      await until(async () => {
        spare = (await second.spares()).find((pid) => !others.includes(pid));
        return spare !== undefined;
      });
      return spare ?? 0;
    };
    const firstSpare = await aSpare();
    const scoreOf = async (pid: number) => Number(await readFile(`/proc/${pid}/oom_score_adj`, 'utf8'));
    const ownScore = await scoreOf(second.pid);
    // It is the first to go when memory runs out, until it serves.
    await until(async () => (await scoreOf(firstSpare)) > ownScore);
    const [victim = 0] = await second.children();
    process.kill(victim, 'SIGKILL');
    await until(async () => (await second.children()).includes(firstSpare));
    t.same(await second.children(), [firstSpare], 'no other one is started');
    await until(async () => (await scoreOf(firstSpare)) === ownScore);
    // Its port was chosen by the system.
    await untilServed();
    const secondSpare = await aSpare();
    t.match(await metrics(), /darkroom_processes\{role="spare"\} 1/);

    second.signal('SIGHUP');
    const thirdSpare = await aSpare([secondSpare]);
    await until(async () => !(await second.children()).includes(firstSpare));
    const [replacement] = await second.children();
    t.notOk(
      [secondSpare, thirdSpare].includes(replacement ?? 0),
      'a process that was asked for has the modules of now',
    );
    t.notOk(isAlive(secondSpare), 'and so has the next spare');
    second.signal('SIGTERM');
    t.equal(await second.ended, 0);
    await until(() => !isAlive(thirdSpare));
  });
});

t.test('wrong settings: one sentence each, all at once, exit 1', async (t) => {
  const wrong = spawnSync(process.execPath, [MAIN], {
    encoding: 'utf8',
    env: bareEnvironment({ PORT: 'http', PROCESSES: '0', LOG_LEVEL: 'loud' }),
  });
  t.equal(wrong.status, 1);
  t.equal(wrong.stderr.trim().split('\n').length, 3);
  t.match(wrong.stderr, /PORT is "http", but a whole number from 0 to 65535 is expected\./);
});

function template({ url }: WholeService, key: string, method: string): Promise<Response> {
  const body = JSON.stringify({ name: 'kept', html: '<p>x</p>', width: 10, height: 10 });
  return fetch(`${url}/api/v1/templates?filter=user`, {
    method,
    headers: { authorization: `ApiKey ${key}`, 'content-type': 'application/json' },
    ...(method === 'GET' ? {} : { body }),
  });
}

/** Stops a process as a debugger does, and resolves when it has stopped. */
async function stopped(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await until(async () => /State:\tT/.test(await readFile(`/proc/${pid}/status`, 'utf8')));
}

/** The status of a call over its own connection, or the error. `onSent` is called when the call was sent. */
async function statusOverNewConnection(
  url: string,
  onSent: () => void = () => undefined,
): Promise<number | string | undefined> {
  const call = get(url, { agent: false, timeout: 20_000 }).on('timeout', () => call.destroy());
  call.once('socket', (socket) => socket.once('connect', onSent));
  try {
    const [answer] = (await once(call, 'response')) as [IncomingMessage];
    answer.resume();
    return answer.statusCode;
  } catch (error) {
    return (error as Error).message;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

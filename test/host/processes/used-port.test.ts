// needs: service
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { checkListenAddress } from '../../../src/host/processes/free-port.ts';
import { bareEnvironment, MAIN, startWholeService, until } from '../../support/whole-service.ts';

t.test('a first start on a used port says so in one sentence, and loses no key', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-port-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  const refused = spawnSync(process.execPath, [MAIN], {
    encoding: 'utf8',
    env: bareEnvironment({ PORT: String(port), DATA_DIR: directory }),
  });
  holder.close();
  t.equal(refused.status, 1);
  const sentence = `Port ${port} on 127.0.0.1 is in use: stop what listens there or set PORT.\n`;
  t.equal(refused.stderr, sentence);
  const settings = { PROCESSES: '1', DATA_DIR: directory, BOOTSTRAP_API_KEY: '' };
  const service = await startWholeService(t, settings);
  t.match(service.printed(), /\n\nexport KEY=drk_[0-9A-Za-z]{32,}\n\n/, 'the next start is the first one');
});

t.test('a used METRICS_PORT is named at the start, and not by each process that dies of it', async (t) => {
  const directory = t.testdir();
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  const refused = spawnSync(process.execPath, [MAIN], {
    encoding: 'utf8',
    env: bareEnvironment({ PORT: '0', METRICS_PORT: String(port), DATA_DIR: directory }),
  });
  holder.close();
  t.equal(refused.status, 1);
  t.equal(
    refused.stderr,
    `Port ${port} on 127.0.0.1 is in use: stop what listens there or set METRICS_PORT.\n`,
  );
});

t.test('the first call that is answered at all finds the key of the operator good', async (t) => {
  const port = await freePort();
  const statuses: number[] = [];
  const starting = startWholeService(t, { PROCESSES: '1', PORT: String(port) });
  const headers = { authorization: 'ApiKey drk_wholewholewholewholewholewholewholewhole' };
  await until(async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/account`, { headers }).catch(() => null);
    if (answer !== null) statuses.push(answer.status);
    return answer !== null;
  });
  t.same(statuses, [200]);
  await starting;
});

async function freePort(): Promise<number> {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  await new Promise((resolve) => holder.close(resolve));
  return port;
}

t.test('an address of another machine is named as that', async (t) => {
  await t.rejects(checkListenAddress('192.0.2.1', 0), {
    message: /192\.0\.2\.1 is not an address of this machine/,
  });
  await checkListenAddress('127.0.0.1', 0);
});

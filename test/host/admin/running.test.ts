// needs: service
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import t from 'tap';
import { startWholeService } from '../../support/whole-service.ts';

const ADMIN = join(import.meta.dirname, '../../../src/host/admin.ts');
const run = promisify(execFile);

t.test('an operator commands a service that runs, and one that does not', async (t) => {
  const service = await startWholeService(t, { PROCESSES: '1', RENDER_THREADS: '1' });
  const { MONGODB_URL, REDIS_URL, ...environment } = process.env;
  const admin = (...words: string[]) =>
    run(process.execPath, [ADMIN, ...words], { env: { ...environment, DATA_DIR: service.directory } });

  const made = JSON.parse((await admin('account', 'create', '--email', 'op@example.test', '--json')).stdout);
  const call = async (path: string, key: string) =>
    fetch(`${service.url}/api/v1${path}`, { headers: { authorization: `ApiKey ${key}` } });
  t.equal((await call('/account', made.key)).status, 200);
  const second = JSON.parse((await admin('key', 'create', made.account.id, '--json')).stdout);
  t.equal((await call('/account', second.key)).status, 200);
  await admin('key', 'revoke', second.apiKey.id);
  t.equal((await call('/account', second.key)).status, 401);
  await t.rejects(admin('account', 'credit', 'acc_unknown', '1'), {
    code: 1,
    stdout: '',
    stderr: 'There is no account acc_unknown.\n',
  });

  service.signal('SIGTERM');
  t.equal(await service.ended, 0);
  for (const words of [['pools'], ['pools', '--watch'], ['set', 'PROCESSES=2'], ['log', 'debug']])
    await t.rejects(
      admin(...words),
      { code: 1, stdout: '', stderr: /^No service runs on / },
      words.join(' '),
    );
  const nowhere = join(t.testdir(), 'mistyped');
  const elsewhere = { env: { ...environment, DATA_DIR: nowhere } };
  await t.rejects(run(process.execPath, [ADMIN, 'pools'], elsewhere), { code: 1, stderr: /mistyped/ });
  const noStores = { code: 1, stderr: /^There are no stores in DATA_DIR \(.*mistyped\)/ };
  await t.rejects(run(process.execPath, [ADMIN, 'account', 'list'], elsewhere), noStores);
  t.notOk(existsSync(nowhere), 'no store is made where none was');
  const { stdout } = await admin('account', 'list');
  t.match(stdout, /op@example\.test {2}free {2}0 credits/);
});

t.test('a copy made while the service runs is a data directory that it starts on', async (t) => {
  if (process.env.TEST_STORES === 'cluster') return;
  const service = await startWholeService(t, { PROCESSES: '1' });
  const { MONGODB_URL, REDIS_URL, ...environment } = process.env;
  const copy = join(service.directory, '..', `darkroom-copy-${process.pid}`);
  t.teardown(() => rm(copy, { recursive: true, force: true }));
  const admin = (...words: string[]) =>
    run(process.execPath, [ADMIN, ...words], {
      cwd: dirname(copy),
      env: { ...environment, DATA_DIR: service.directory },
    });
  const picture = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
  const authorization = `ApiKey ${service.key}`;
  const uploaded = await fetch(`${service.url}/api/v1/assets/upload`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'image/png' },
    body: new Uint8Array(picture),
  });
  const { id } = ((await uploaded.json()) as { data: { id: string } }).data;

  const made = JSON.parse((await admin('backup', basename(copy), '--json')).stdout);
  t.match(made, { directory: copy, objects: 1 }, 'a path is relative to the folder of the command');
  await t.rejects(admin('backup', '/proc/nothing/copy'), { message: /\/proc\/nothing/ });
  await t.rejects(admin('backup', copy), { message: /exists already/ });
  const lost = await fetch(`${service.url}/api/v1/assets/${id}`, {
    method: 'DELETE',
    headers: { authorization },
  });
  t.equal(lost.status, 204);

  const restored = await startWholeService(t, { PROCESSES: '1', DATA_DIR: copy });
  const content = await fetch(`${restored.url}/api/v1/assets/${id}/content`, { headers: { authorization } });
  t.equal(content.status, 200);
  t.ok(picture.equals(Buffer.from(await content.arrayBuffer())));
});

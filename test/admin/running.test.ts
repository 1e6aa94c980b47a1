// needs: server
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { startWholeService } from '../whole-service.ts';

const ADMIN = join(import.meta.dirname, '../../src/admin.ts');
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
  const { stdout } = await admin('account', 'list');
  t.match(stdout, /op@example\.test {2}free {2}0 credits/);
});

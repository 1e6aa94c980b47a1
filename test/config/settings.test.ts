// needs: nothing
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { misspeltSettings, readSettings } from '../../config/index.ts';
import { settingsPage } from '../../config/page.ts';
import { SettingsError } from '../../src/platform/setting.ts';

t.test('every setting has a default that works', async (t) => {
  const settings = readSettings({});
  t.equal(settings.http.HOST, '127.0.0.1');
  t.equal(settings.http.PORT, 3000);
  t.equal(settings.stores.DATA_DIR, './data');
});

t.test('an empty variable is an unset one', async (t) => {
  t.equal(readSettings({ PORT: '' }).http.PORT, 3000);
});

t.test(
  'all violations are told at once, one sentence each, with name, value and what is accepted',
  async (t) => {
    const wrong = {
      PORT: '70000',
      LOG_LEVEL: 'loud',
      OUTBOUND_ALLOW_HTTP: 'yes',
      MONGODB_URL: 'mongodb://db/x',
    };
    const violations = violationsOf(wrong);
    t.equal(violations.length, 3);
    t.match(violations.join('\n'), /PORT is "70000", but a whole number from 0 to 65535 is expected\./);
    t.match(violations.join('\n'), /LOG_LEVEL is "loud", but one of .*info.* is expected\./);
    t.match(violations.join('\n'), /OUTBOUND_ALLOW_HTTP is "yes", but true or false is expected\./);
  },
);

t.test('MONGODB_URL and REDIS_URL go together', async (t) => {
  t.match(violationsOf({ MONGODB_URL: 'mongodb://db/x' }), [/REDIS_URL is not/]);
  t.match(violationsOf({ REDIS_URL: 'redis://cache' }), [/MONGODB_URL is not/]);
});

t.test('METRICS_PORT is not PORT, and TRUST_PROXY names networks', async (t) => {
  t.match(violationsOf({ PORT: '3000', METRICS_PORT: '3000' }), [/METRICS_PORT and PORT are both 3000/]);
  t.same(violationsOf({ PORT: '3000', METRICS_PORT: '3001' }), []);
  for (const wrong of ['my-proxy', 'true', '10.0.0.0/33', '10.0.0.0/', '10.0.0.1,my-proxy', '::1/129'])
    t.match(violationsOf({ TRUST_PROXY: wrong }), [/TRUST_PROXY is .* CIDRs/], wrong);
  for (const right of ['127.0.0.1', '10.0.0.0/8, ::1', 'fd00::/8', 'loopback,uniquelocal'])
    t.same(violationsOf({ TRUST_PROXY: right }), [], right);
});

t.test('a variable that is nearly a setting is named, and those of other programs are not', async (t) => {
  t.same(misspeltSettings({ IMAGE_THREDS: '2', PROCESES: '2', PROCESSES: '2' }), [
    'There is no setting IMAGE_THREDS, which the environment sets. Did you mean IMAGE_THREADS?',
    'There is no setting PROCESES, which the environment sets. Did you mean PROCESSES?',
  ]);
  const others = { HOSTNAME: 'x', HOME: '/', REDIS_PORT: 'tcp://x', MONGODB_PORT: '1', NODE_ENV: 'x' };
  t.same(misspeltSettings({ ...others, SHELL: 'x', npm_config_port: '1', OTEL_SERVICE_NAME: 'x' }), []);
});

t.test('a path with ~ is refused, because only a shell expands it', async (t) => {
  for (const name of ['DATA_DIR', 'RESULTS_DIR', 'BROWSER_PATH'])
    t.throws(() => readSettings({ [name]: '~/there' }), {
      message: new RegExp(`${name} is "~/there".*a shell`),
    });
  t.equal(readSettings({ DATA_DIR: '/there/~old' }).stores.DATA_DIR, '/there/~old');
});

t.test('a secret that is not acceptable is not printed', async (t) => {
  const [violation = ''] = violationsOf({ BOOTSTRAP_API_KEY: 'hunter2' });
  t.notMatch(violation, /hunter2/);
  t.match(violation, /BOOTSTRAP_API_KEY/);
});

t.test('settings.md says what the code says (npm run settings writes it)', async (t) => {
  const written = readFileSync(join(import.meta.dirname, '../../config/settings.md'), 'utf8');
  t.equal(written, settingsPage());
});

function violationsOf(environment: Record<string, string>): readonly string[] {
  try {
    readSettings(environment);
  } catch (error) {
    if (error instanceof SettingsError) return error.violations;
  }
  return [];
}

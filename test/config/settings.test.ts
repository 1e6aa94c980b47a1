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

t.test('a receiver of traces that is no address is refused', async (t) => {
  for (const name of ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']) {
    for (const wrong of ['nonsense', 'collector:4318', 'http://'])
      t.same(violationsOf({ [name]: wrong }), [
        `${name} is "${wrong}", but an address such as http://127.0.0.1:4318 is expected.`,
      ]);
    for (const right of ['', 'http://collector:4318', 'https://traces.example.com/v1/traces'])
      t.same(violationsOf({ [name]: right }), []);
  }
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

t.test('an address that cannot be dialled, or is not one alone, is refused', async (t) => {
  const addresses = ['PUBLIC_URL', 'S3_ENDPOINT', 'TOP_UP_URL', 'OPENAI_BASE_URL', 'SMTP_URL', 'REDIS_URL'];
  const schemes = { SMTP_URL: 'smtp', REDIS_URL: 'redis' } as Record<string, string>;
  for (const name of addresses)
    for (const rest of ['host:99999', '[::1', 'a b', ' host'])
      t.match(
        violationsOf({ [name]: `${schemes[name] ?? 'http'}://${rest}` }).join(),
        name,
        `${name} ${rest}`,
      );
  for (const rest of ['user:secret@host', 'host?x=1', 'host/a#b', 'host/'])
    t.match(violationsOf({ PUBLIC_URL: `https://${rest}` }), [/PUBLIC_URL is .* without a slash/], rest);
  t.match(violationsOf({ GEMINI_BASE_URL: 'https://host/v1?key=1' }), [/without a query/]);
  t.match(violationsOf({ MONGODB_URL: 'mongodb://', REDIS_URL: 'redis://cache' }), [/MONGODB_URL/]);
  const right = {
    PUBLIC_URL: 'https://host:8443/a/b',
    S3_BUCKET: 'pictures',
    S3_ENDPOINT: 'http://objects:9000',
    OPENAI_BASE_URL: 'http://[::1]:1/v1',
  };
  t.same(violationsOf(right), []);
});

t.test('an origin that no browser sends is refused', async (t) => {
  const wrong = [
    'https://App.example.com',
    'https://app.example.com:443',
    'https://münchen.example',
    'http://[::1',
    'https://a.example, https://b.example',
    'https://a.example/',
    'null',
  ];
  for (const origins of wrong)
    t.match(violationsOf({ CORS_ORIGINS: origins }), [/CORS_ORIGINS is .* as browsers send them/], origins);
  for (const origins of ['*', 'https://a.example,http://localhost:5173'])
    t.same(violationsOf({ CORS_ORIGINS: origins }), [], origins);
});

t.test('a text that names nothing is refused, and so are spaces around it', async (t) => {
  const wrong = {
    HOST: ['http://x', ' ', '127.0.0.1 '],
    DATA_DIR: [' ', ' /data', '/data '],
    ENV_FILE: [' '],
    S3_BUCKET: ['a b', 'http://x', 'ab'],
    S3_REGION: ['a b', ' '],
    OPENAI_API_KEY: ['sk-schlüssel', 'sk 1'],
    MAIL_FROM: ['a@b@c', 'Darkroom <a@b'],
  };
  for (const [name, values] of Object.entries(wrong))
    for (const value of values)
      t.match(violationsOf({ [name]: value }), [new RegExp(name)], `${name}=${value}`);
  const right = {
    HOST: 'fe80::1%eth0',
    DATA_DIR: '/srv/my pictures',
    S3_BUCKET: 'my-pictures.eu',
    S3_REGION: 'auto',
  };
  t.same(violationsOf({ ...right, MAIL_FROM: 'Darkroom <darkroom@example.com>' }), []);
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

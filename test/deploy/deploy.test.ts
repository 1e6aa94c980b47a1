// needs: nothing
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import t from 'tap';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** Names on the page of the metrics; a histogram has three more in a query. */
function knownMetrics(): Set<string> {
  const rows = read('config/metrics.md').matchAll(/^\| `(darkroom_\w+)` \| (\w+) \|/gm);
  return new Set(
    [...rows].flatMap(([, name = '', type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  );
}

/** A heading as a link names it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .trim()
    .replaceAll(/\s+/g, '-');
}

t.test('the dashboard and the alerts ask for metrics that the service has', async (t) => {
  const known = knownMetrics();
  t.ok(known.size > 20);
  for (const file of ['deploy/grafana/darkroom.json', 'deploy/prometheus/alerts.yaml', 'docs/operating.md']) {
    const asked = [...read(file).matchAll(/darkroom_[a-z_]+/g)].map(([name]) => name);
    t.ok(asked.length > 0, file);
    for (const name of new Set(asked)) {
      const isFamily = [...known].some((one) => one.startsWith(`${name}_`));
      t.ok(known.has(name) || isFamily, `${file}: ${name}`);
    }
  }
  t.ok(JSON.parse(read('deploy/grafana/darkroom.json')).panels.length > 10);
});

t.test('each alert leads to a paragraph of the handbook', async (t) => {
  const anchors = new Set(
    [...read('docs/operating.md').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading)),
  );
  const alerts = read('deploy/prometheus/alerts.yaml');
  const count = [...alerts.matchAll(/^ +- alert: /gm)].length;
  const runbooks = [...alerts.matchAll(/runbook: docs\/operating\.md#(\S+)/g)].map(
    ([, anchor = '']) => anchor,
  );
  t.equal(runbooks.length, count, 'one each');
  for (const anchor of runbooks) t.ok(anchors.has(anchor), anchor);
});

interface SeccompRule {
  names: string[];
  action: string;
  args?: { index: number; value: number; valueTwo?: number; op: string }[];
}

t.test('the seccomp profile grants the namespaces of the browser, and no others', async (t) => {
  const path = 'deploy/seccomp/darkroom.json';
  const profile: { defaultAction: string; syscalls: SeccompRule[] } = JSON.parse(read(path));
  t.equal(profile.defaultAction, 'SCMP_ACT_ERRNO');
  const names = profile.syscalls.flatMap((rule) => rule.names);
  t.same(names, [...new Set(names)], 'each call is in one rule');
  const ruleOf = (name: string) => profile.syscalls.find((rule) => rule.names.includes(name));
  for (const name of [
    'mount',
    'setns',
    'ptrace',
    'bpf',
    'keyctl',
    'io_uring_setup',
    'init_module',
    'userfaultfd',
  ])
    t.equal(ruleOf(name), undefined, name);
  const [users, processes, network] = [0x1000_0000, 0x2000_0000, 0x4000_0000];
  const [mounts, cgroups, hostNames, systemV] = [0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000];
  for (const name of ['clone', 'unshare']) {
    const [condition] = ruleOf(name)?.args ?? [];
    t.match(condition, { index: 0, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' });
    const forbidden = condition?.value ?? 0;
    t.equal(forbidden & (users | processes | network), 0, `${name} makes the namespaces of the sandbox`);
    for (const flag of [mounts, cgroups, hostNames, systemV]) t.equal(forbidden & flag, flag, name);
  }
  t.match(ruleOf('clone3'), { action: 'SCMP_ACT_ERRNO', errnoRet: 38 });
  for (const file of ['compose.yaml', 'compose.single.yaml', 'docs/operating.md'])
    t.match(read(file), `seccomp=${path}`, file);
});

t.test('settings that the files of deploy/ and the handbook name are there', async (t) => {
  const known = new Set(
    [...read('config/settings.md').matchAll(/^\| `([A-Z0-9_]+)` \|/gm)].map(([, name]) => name),
  );
  t.ok(known.size > 30);
  const handbook = [...read('docs/operating.md').matchAll(/`([A-Z][A-Z0-9]+_[A-Z0-9_]+)(?:=\w+)?`/g)].map(
    ([, name]) => name,
  );
  for (const name of new Set(handbook))
    if (!/^(OTEL|AWS|FONTCONFIG)_/.test(name ?? '')) t.ok(known.has(name), String(name));
  const manifest = read('deploy/kubernetes/darkroom.yaml');
  for (const [, name] of manifest.matchAll(/^ {2}([A-Z][A-Z0-9_]+): "/gm))
    t.ok(known.has(name), String(name));
  t.ok(readdirSync(join(ROOT, 'deploy')).length >= 5);
});

t.test('the health check of the image asks the port that the settings file names', async (t) => {
  const file = read('Dockerfile').replaceAll('\\\n', ' ');
  const [, ofImage = ''] = /^ENV (.*)$/m.exec(file) ?? [];
  t.notMatch(ofImage, /\b(?:METRICS_)?PORT=/, 'what the image sets wins over the settings file');
  const [, command = ''] = /^HEALTHCHECK .* CMD (.*)$/m.exec(file) ?? [];
  let status = 200;
  const asked: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url);
    response.writeHead(status).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const ENV_FILE = join(t.testdir(), 'darkroom.env');
  writeFileSync(ENV_FILE, `PORT=${(server.address() as AddressInfo).port} # of this host\n`);
  const check = async () => {
    const PATH = `${dirname(process.execPath)}${delimiter}${process.env.PATH}`;
    const [code] = await once(spawn('sh', ['-c', command], { env: { PATH, ENV_FILE } }), 'exit');
    return code;
  };
  t.equal(await check(), 0);
  status = 503;
  t.equal(await check(), 1);
  t.same(asked, ['/readyz', '/readyz']);
});

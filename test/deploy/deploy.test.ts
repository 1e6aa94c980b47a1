// needs: nothing
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
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

t.test('settings that the files of deploy/ and the handbook name are there', async (t) => {
  const known = new Set(
    [...read('config/settings.md').matchAll(/^\| `([A-Z0-9_]+)` \|/gm)].map(([, name]) => name),
  );
  t.ok(known.size > 30);
  const handbook = [...read('docs/operating.md').matchAll(/`([A-Z][A-Z0-9]+_[A-Z0-9_]+)(?:=\w+)?`/g)].map(
    ([, name]) => name,
  );
  for (const name of new Set(handbook)) if (!name?.startsWith('OTEL_')) t.ok(known.has(name), String(name));
  const manifest = read('deploy/kubernetes/darkroom.yaml');
  for (const [, name] of manifest.matchAll(/^ {2}([A-Z][A-Z0-9_]+): "/gm))
    t.ok(known.has(name), String(name));
  t.ok(readdirSync(join(ROOT, 'deploy')).length >= 5);
});

// needs: server
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import t from 'tap';
import { declareRestartCounter, installHostMetrics } from '../../../src/platform/metrics/host.ts';
import { JOB_TYPES } from '../../../src/product/jobs/job.ts';
import { startServer } from '../../support/harness.ts';
import { ownMetrics, PAGE, pageOf, writePage } from './page.ts';

/** How long the sandbox's model takes. */
const MODEL_MS = 3_000;
const ALERTS = join(import.meta.dirname, '../../../deploy/prometheus/alerts.yaml');

/**
 * The samples of Prometheus' text format: name with its labels, and value, which may be NaN: so is the lag of an event
 * loop until it was measured. Throws at a line that is none.
 */
function samplesOf(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line === '' || /^# (HELP|TYPE) /.test(line)) continue;
    const [, name, value] =
      /^([a-zA-Z_:][\w:]*(?:\{(?:\w+="(?:[^"\\]|\\.)*",?)*\})?) (\S+)$/.exec(line) ?? [];
    if (
      name === undefined ||
      value === undefined ||
      !/^(?:nan|[+-]?inf|[+-]?[\d.]+(?:e[+-]?\d+)?)$/i.test(value)
    )
      throw new Error(`not a sample: ${line}`);
    samples.set(name, Number(value.replace('Inf', 'Infinity')));
  }
  return samples;
}

t.test('a fresh instance has each series whose growth an alert looks at, and it is zero', async (t) => {
  const server = await startServer(t);
  declareRestartCounter();
  const samples = samplesOf((await server.call('//metrics')).bytes.toString('utf8'));
  const alerts = readFileSync(ALERTS, 'utf8');
  const grown = [...alerts.matchAll(/(?:rate|increase)\((darkroom_\w+)(?:\{(\w+)="([^"]+)"\})?/g)];
  t.ok(grown.length > 8);
  for (const [, name = '', label, value] of grown) {
    // Those of the host are counted by the primary, where the kernel counts them.
    if (/^darkroom_(cpu|process_cpu|memory_kills)_/.test(name)) continue;
    // A ratio's divisor has nothing to tell before the first request.
    if (name === 'darkroom_request_duration_seconds_count') continue;
    const ofName = [...samples.keys()].filter((key) => key.startsWith(name));
    const pair = label === undefined ? '' : `${label}="${value}"`;
    t.ok(
      ofName.some((key) => key.includes(pair) && (pair === '' || samples.get(key) === 0)),
      `${name} ${pair}`,
    );
  }
  for (const name of ['darkroom_job_oldest_waiting_seconds', 'darkroom_job_items_open'])
    for (const type of JOB_TYPES) t.equal(samples.get(`${name}{type="${type}"}`), 0, `${name} ${type}`);
  for (const store of ['documents', 'coordination', 'objects'])
    t.ok(
      [...samples].some(
        ([key, value]) => key.startsWith(`darkroom_store_errors_total{store="${store}"`) && value === 0,
      ),
    );
});

t.test('the wait for a job that a caller asks for makes no slow answer', async (t) => {
  const server = await startServer(t);
  const { key } = await server.account({ credits: 100 });
  const slow = { op: 'generate', model: 'sandbox-image', prompt: `[sandbox:wait=${MODEL_MS}]`, wait: 60 };
  const submitted = await server.call('/jobs', { key, json: slow });
  t.match(submitted.json.data, { status: 'COMPLETED' });
  const { id } = (await server.call('/jobs', { key, json: { ...slow, wait: 0 } })).json.data;
  t.match((await server.call(`/jobs/${id}?wait=60`, { key })).json.data, { status: 'COMPLETED' });
  const samples = samplesOf((await server.call('//metrics')).bytes.toString('utf8'));
  const took = (labels: string) =>
    samples.get(`darkroom_request_duration_seconds_sum{${labels},status="200"}`) ?? 0;
  for (const labels of ['method="POST",route="/api/v1/jobs"', 'method="GET",route="/api/v1/jobs/:jobId"']) {
    t.ok(took(labels) > 0);
    t.ok(took(labels) < MODEL_MS / 1_000, 'the model alone takes longer');
  }
});

t.test('what happened is told by pool, op, refusal and store, and nothing of an account', async (t) => {
  const server = await startServer(t);
  const { id, key, keyId } = await server.account();
  const jpeg = await sharp({ create: { width: 64, height: 48, channels: 3, background: '#c33' } })
    .jpeg()
    .toBuffer();
  const transform = (query: string) =>
    server.call(`/images/transform?${query}`, {
      method: 'POST',
      key,
      type: 'image/jpeg',
      body: new Uint8Array(jpeg),
    });
  const made = await transform('op=resize&width=32&format=png');
  t.equal(made.status, 200);
  t.equal((await transform('op=resize&wdth=32')).status, 400);
  const text = (await server.call('//metrics')).bytes.toString('utf8');
  const samples = samplesOf(text);

  t.equal(samples.get('darkroom_op_duration_seconds_count{op="resize",work="call"}'), 1);
  t.equal(samples.get('darkroom_op_bytes_total{op="resize",direction="in"}'), jpeg.length);
  t.equal(samples.get('darkroom_op_bytes_total{op="resize",direction="out"}'), made.bytes.length);
  t.ok((samples.get('darkroom_op_part_seconds_total{op="resize",work="call",part="process"}') ?? 0) > 0);
  t.equal(samples.get('darkroom_pool_wait_seconds_count{pool="image",work="call"}'), 1);
  t.equal(
    samples.get('darkroom_pool_work_total{pool="image",work="call",kind="transform",outcome="done"}'),
    1,
  );
  t.equal(samples.get('darkroom_pool_threads{pool="image"}'), 1);
  t.ok((samples.get('darkroom_pool_budget_bytes{pool="image"}') ?? 0) > 0);
  t.equal(
    samples.get('darkroom_refusals_total{route="/api/v1/images/transform",code="invalid_param",reason=""}'),
    1,
  );
  t.ok(
    (samples.get('darkroom_store_duration_seconds_count{store="coordination",operation="admit"}') ?? 0) >= 2,
  );
  t.ok(
    (samples.get('darkroom_store_duration_seconds_count{store="documents",operation="findOne"}') ?? 0) >= 1,
  );
  const waited = samples.get('darkroom_request_store_seconds_total{route="/api/v1/images/transform"}') ?? 0;
  const took = samples.get(
    'darkroom_request_duration_seconds_sum{method="POST",route="/api/v1/images/transform",status="200"}',
  );
  t.ok(waited > 0 && waited < 2 * (took ?? 0), 'a request waits for its gate and its allowance');
  for (const secret of [id, keyId, key]) t.notOk(text.includes(secret), 'no account, key or id in a label');

  // What the page tells is what is declared: names, types, labels and meanings.
  declareRestartCounter();
  installHostMetrics({
    version: '1.2.3',
    readDisk: async () => ({ freeBytes: 5_000, reservedBytes: 1_000 }),
    cores: 2,
  });
  if (process.env.WRITE_METRICS_PAGE === 'yes') writePage();
  t.equal(readFileSync(PAGE, 'utf8'), pageOf(ownMetrics()), 'config/metrics.md is old: npm run metrics');
  for (const { name, help } of ownMetrics()) {
    t.match(name, /^darkroom_[a-z_]+$/);
    t.match(help, /\.$/, `${name} has a sentence`);
  }
});

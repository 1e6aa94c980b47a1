// needs: server
import { readFileSync } from 'node:fs';
import sharp from 'sharp';
import t from 'tap';
import { createHostMeter } from '../../../src/platform/metrics/host.ts';
import { createRestartMeter } from '../../../src/platform/metrics/restarts.ts';
import { startServer } from '../../support/harness.ts';
import { ownMetrics, PAGE, pageOf, writePage } from './page.ts';

/** The samples of Prometheus' text format: name with its labels, and value. Throws at a line that is none. */
function samplesOf(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line === '' || /^# (HELP|TYPE) /.test(line)) continue;
    const [, name, value] =
      /^([a-zA-Z_:][\w:]*(?:\{(?:\w+="(?:[^"\\]|\\.)*",?)*\})?) (\S+)$/.exec(line) ?? [];
    if (name === undefined || Number.isNaN(Number(value?.replace('Inf', 'Infinity'))))
      throw new Error(`not a sample: ${line}`);
    samples.set(name, Number(value?.replace('Inf', 'Infinity')));
  }
  return samples;
}

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
  t.ok((samples.get('darkroom_op_part_seconds_total{op="resize",part="process"}') ?? 0) > 0);
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
  for (const secret of [id, keyId, key]) t.notOk(text.includes(secret), 'no account, key or id in a label');

  // What the page tells is what is declared: names, types, labels and meanings.
  createRestartMeter();
  createHostMeter({ version: '1.2.3', dataDir: t.testdir(), cores: 2 });
  if (process.env.WRITE_METRICS_PAGE === 'yes') writePage();
  t.equal(readFileSync(PAGE, 'utf8'), pageOf(ownMetrics()), 'config/metrics.md is old: npm run metrics');
  for (const { name, help } of ownMetrics()) {
    t.match(name, /^darkroom_[a-z_]+$/);
    t.match(help, /\.$/, `${name} has a sentence`);
  }
});

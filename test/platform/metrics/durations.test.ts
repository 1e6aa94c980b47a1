// needs: nothing
import { AggregatorRegistry, Histogram, register } from 'prom-client';
import t, { type Test } from 'tap';
import { DurationHistogram } from '../../../src/platform/metrics/durations.ts';

const BOUNDS = [0.1, 0.5, 2];
const OBSERVED = [0, 0.1, 0.1001, 0.5, 0.7, 2, 2.5, 600];

/** The same observations told by the client's own histogram, and by ours. */
async function both(t: Test) {
  register.clear();
  t.teardown(() => register.clear());
  const of = { name: 'taken_seconds', help: 'Time taken.', labelNames: ['way', 'end'] as const };
  const client = new Histogram({ ...of, buckets: BOUNDS });
  for (const seconds of OBSERVED) client.observe({ way: 'out', end: 'good' }, seconds);
  client.observe({ way: 'home', end: 'bad' }, 1);
  const expected = { text: await register.metrics(), json: await register.getMetricsAsJSON() };
  register.clear();
  const ours = new DurationHistogram({ ...of, bounds: BOUNDS });
  const observe = ours.createObserver({ way: 'out', end: 'good' });
  for (const seconds of OBSERVED) observe(seconds);
  ours.createObserver({ way: 'home', end: 'bad' })(1);
  ours.createObserver({ way: 'nowhere', end: 'none' });
  return { expected, ours };
}

/** Lines of a page, whatever the order of the labels. */
function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.replace(/\{(.*)\}/, (_all, labels: string) => `{${labels.split(',').toSorted()}}`));
}

t.test('a page tells durations as the client would, and nothing of what never was', async (t) => {
  const { expected } = await both(t);
  t.same(linesOf(await register.metrics()), linesOf(expected.text));
});

t.test('several processes together tell their sums', async (t) => {
  const { expected } = await both(t);
  const own = await register.getMetricsAsJSON();
  const together = await AggregatorRegistry.aggregate([own, own]).metrics();
  const byClient = await AggregatorRegistry.aggregate([expected.json, expected.json]).metrics();
  t.same(linesOf(together), linesOf(byClient));
  t.match(together, /taken_seconds_count\{.*way="out".*\} 16/);
});

t.test('after a reset the series begin again', async (t) => {
  const { ours } = await both(t);
  ours.reset();
  t.same((await ours.get()).values, []);
});

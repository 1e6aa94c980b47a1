// needs: redis
import t, { type Test } from 'tap';
import { startRedis } from '../../../../bench/services/redis.ts';
import { readSettings } from '../../../../config/index.ts';
import { answerControls, askProcesses } from '../../../../src/host/processes/controls.ts';
import { randomText } from '../../../../src/platform/ids/ids.ts';
import type { Coordination } from '../../../../src/platform/stores/coordination/port.ts';
import { connectRedisCoordination } from '../../../../src/platform/stores/open.ts';
import { until } from './harness.ts';

const redis = await startRedis();
t.teardown(() => redis?.stop());

/** A deployment's coordination as its settings make it, and what its one process was asked and woken for. */
async function deploy(t: Test, hostId: string, { database, prefix }: { database: number; prefix: string }) {
  const url = new URL(redis?.url ?? '');
  url.pathname = `/${database}`;
  const settings = readSettings({
    MONGODB_URL: 'mongodb://not-asked',
    REDIS_URL: url.href,
    REDIS_PREFIX: prefix,
  });
  const coordination = await connectRedisCoordination(settings.stores);
  t.teardown(() => coordination.close());
  const heard: string[] = [];
  await coordination.subscribe('jobs/work', (message) => heard.push(message));
  const asked: string[] = [];
  await answerControls(coordination, { hostId, processId: '1' }, async ({ kind }) => {
    asked.push(kind);
    return {};
  });
  return { coordination, heard, asked };
}

const hostsOf = async (coordination: Coordination) =>
  (await askProcesses(coordination, { kind: 'pools' })).map(({ hostId }) => hostId);

const own = `test-${randomText(8)}`;
for (const [name, ours, theirs] of [
  ['two databases', { database: 1, prefix: own }, { database: 2, prefix: own }],
  ['two prefixes', { database: 3, prefix: `${own}-a` }, { database: 3, prefix: `${own}-b` }],
] as const)
  t.test(
    `two deployments in ${name} of one Redis see nothing of each other`,
    { skip: redis === null },
    async (t) => {
      const a = await deploy(t, 'host-a', ours);
      const b = await deploy(t, 'host-b', theirs);
      t.same(await hostsOf(a.coordination), ['host-a']);
      t.same(await hostsOf(b.coordination), ['host-b']);
      await askProcesses(a.coordination, {
        kind: 'set',
        name: 'PROCESSES',
        value: 1,
        save: false,
        by: 'a test',
      });
      t.equal(await a.coordination.publish('jobs/work', 'job_a'), 1, 'one process hears the wake-up');
      t.equal(await b.coordination.publish('jobs/work', 'job_b'), 1);
      t.same([a.asked, b.asked], [['pools', 'set'], ['pools']]);
      // On each connection its own message is behind everything that the other deployment sent before.
      await until(async () => a.heard.includes('job_a') && b.heard.includes('job_b'));
      t.same([a.heard, b.heard], [['job_a'], ['job_b']]);

      t.ok(await a.coordination.lease('sweep', 'a', 60_000));
      t.ok(await b.coordination.lease('sweep', 'b', 60_000), 'keys are apart too');
      await b.coordination.admit({ slot: { key: 'k', limit: 1, holder: 'h/1/1', leaseMs: 60_000 } });
      await a.coordination.releaseSlotsByPrefix('h/');
      const other = { key: 'k', limit: 1, holder: 'h/1/2', leaseMs: 60_000 };
      t.notOk((await b.coordination.admit({ slot: other })).slot, 'the slot of the other is still taken');
    },
  );

t.test('hosts of one deployment hear each other', { skip: redis === null }, async (t) => {
  const a = await deploy(t, 'host-a', { database: 4, prefix: own });
  await deploy(t, 'host-b', { database: 4, prefix: own });
  t.same(await hostsOf(a.coordination), ['host-a', 'host-b']);
});

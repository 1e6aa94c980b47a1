// needs: documents
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { brokenPromises, ended, itemsOf, jobsOf, recover } from '../../../chaos/invariants.ts';
import { orderOf, performing, scripted } from '../../../chaos/script.ts';
import { closeStores } from '../../../chaos/stores.ts';
import { openWorld } from '../../../chaos/world.ts';

t.teardown(closeStores);

const GRANTED = 40;
const LEASE_MS = 31_000;

t.test('the only item of a job that runs at once is stored as claimed', async (t) => {
  const world = await openWorld();
  const caller = await world.account(GRANTED);
  // Who dies at the first claim of a stored item claims none.
  const host = await world.start({ point: 'items claimed', occurrence: 1, moment: 'before' });
  const { job } = await host.lifecycle.submit(caller, orderOf(['done']));
  t.equal(job.status, 'PROCESSING');
  await ended(world);
  t.notOk(host.life.isDead);
  const [item] = await itemsOf(world);
  t.match(item, { status: 'COMPLETED', epoch: 1, tries: 0, deaths: 0 });
  await recover(world, host);
  t.same(await brokenPromises(world, caller, GRANTED), []);
  await world.close();
});

t.test('the only item of a job is worked on when the job is shown, and not before', async (t) => {
  const world = await openWorld();
  const caller = await world.account(GRANTED);
  const phases: unknown[] = [];
  const host = await world.start(null, (tools) => {
    const perform = scripted(performing(world.now))(tools);
    return async (item, job, signal) => {
      phases.push((await tools.jobs.get(job._id))?.phase);
      return perform(item, job, signal);
    };
  });
  await host.lifecycle.submit(caller, orderOf(['done']));
  await ended(world);
  const order = orderOf(['done']);
  await t.rejects(host.lifecycle.submit(caller, { ...order, need: { runs: 1, credits: GRANTED + 1 } }), {
    code: 'insufficient_credit',
  });
  t.same(phases, ['open'], 'a job that is refused is not worked on');
  await recover(world, host);
  await world.close();
});

t.test('the only item of a job that has to wait is as if nobody had claimed it', async (t) => {
  const world = await openWorld();
  const caller = await world.account(GRANTED);
  const host = await world.start(null);
  // Two jobs keep their places and nothing to do: their items are put off.
  for (let jobs = 0; jobs < 2; jobs += 1) await host.lifecycle.submit(caller, orderOf(['twice']));
  while ((await itemsOf(world)).some(({ queue }) => queue !== 'later')) await pause(5);
  const { job } = await host.lifecycle.submit(caller, orderOf(['done']));
  t.equal(job.status, 'PENDING');
  const waiting = (await itemsOf(world)).find(({ jobId }) => jobId === job._id);
  t.match(waiting, { status: 'PENDING', queue: 'ready', deaths: 0 });
  for (const name of ['owner', 'claim', 'leaseUntil', 'startedAt'])
    t.notOk(Object.hasOwn(waiting ?? {}, name));
  await recover(world, host);
  t.ok((await jobsOf(world)).every(({ status }) => status === 'COMPLETED'));
  t.same(await brokenPromises(world, caller, GRANTED), []);
  await world.close();
});

const POINTS_OF_A_SUBMIT = [
  ...['job hidden', 'definition stored', 'money held', 'quota reserved', 'items stored', 'job opened'],
  ...['quota confirmed', 'item decided', 'outputs kept'],
];

for (const point of POINTS_OF_A_SUBMIT) {
  t.test(`a death at "${point}" of a job whose only item is claimed already`, async (t) => {
    for (const moment of ['before', 'after'] as const) {
      const world = await openWorld();
      const caller = await world.account(GRANTED);
      const dying = await world.start({ point, occurrence: 1, moment });
      dying.lifecycle.submit(caller, orderOf(['done'])).catch(() => undefined);
      await dying.life.died;
      // Before anything is undone, the lease of the dead runs out.
      world.elapse(LEASE_MS);
      await recover(world, await world.start(null));
      t.same(await brokenPromises(world, caller, GRANTED), [], moment);
      t.ok((await itemsOf(world)).every(({ status }) => status === 'COMPLETED'));
      await world.close();
    }
  });
}

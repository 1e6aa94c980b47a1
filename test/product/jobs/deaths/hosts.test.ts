// needs: documents
import t from 'tap';
import { brokenPromises, ended, itemsOf, jobsOf, quiet, recover } from '../../../chaos/invariants.ts';
import { round } from '../../../chaos/rounds.ts';
import { orderOf, performing, type Script, scripted } from '../../../chaos/script.ts';
import { closeStores } from '../../../chaos/stores.ts';
import { openWorld } from '../../../chaos/world.ts';

t.teardown(closeStores);

const GRANTED = 60;
const LEASE_MS = 31_000;

t.test('an owner that stood still past its lease changes nothing, and leaves no asset', async (t) => {
  // No wake-up reaches the one that stands still.
  const world = await openWorld({ losesSignal: () => true });
  const caller = await world.account(GRANTED);
  const { promise: wakesUp, resolve: wakeUp } = Promise.withResolvers<void>();
  const { promise: stands, resolve: standsStill } = Promise.withResolvers<void>();
  const work = performing(world.now);
  const paused: Script = async (call) => {
    standsStill();
    await wakesUp;
    return work(call);
  };
  const late = await world.start(null, scripted(paused));
  await late.lifecycle.submit(caller, orderOf(['done']));
  await stands;
  world.elapse(LEASE_MS);
  const other = await world.start(null);
  for (const { sweep } of other.lifecycle.sweeps) await sweep(world.now());
  await other.lifecycle.pollJobs();
  await ended(world);
  const [settled] = await itemsOf(world);
  t.equal(settled?.status, 'COMPLETED', 'by the new owner');
  wakeUp();
  await quiet(world, late);
  await recover(world, other);
  t.same(await itemsOf(world), [settled], 'the late one changed nothing');
  t.same(await brokenPromises(world, caller, GRANTED), []);
  await world.close();
});

for (const [name, times, isSeen] of [
  ['takes its process down twice', 2, true],
  ['is lost to five leases, but no end of its process was seen', 5, false],
] as const)
  t.test(`an item that ${name} has failed, and costs nothing`, async (t) => {
    const world = await openWorld();
    const caller = await world.account(GRANTED);
    const never: Script = () => new Promise(() => undefined);
    const first = await world.start(null, scripted(never));
    const { job } = await first.lifecycle.submit(caller, orderOf(['done']));
    for (let losses = 0; losses < times; losses += 1) {
      const claimed = async () => (await itemsOf(world))[0]?.queue === 'claimed';
      for (let look = 0; look < 400 && !(await claimed()); look += 1)
        await new Promise((wait) => setTimeout(wait, 5));
      if (isSeen) await first.stores.items.endLeases(first.owner);
      world.elapse(isSeen ? 1 : LEASE_MS);
      t.equal((await first.stores.jobs.get(job._id))?.status, 'PROCESSING');
      for (const { sweep } of first.lifecycle.sweeps) await sweep(world.now());
    }
    const ended = await first.stores.jobs.get(job._id);
    t.match(ended, {
      status: 'FAILED',
      errorCode: 'internal_error',
      retryable: true,
      usedRuns: 0,
      chargedCredits: 0,
    });
    t.same(await brokenPromises(world, caller, GRANTED), []);
    first.life.isDead = true;
    await world.close();
  });

t.test('two hosts share a job, and one of them dies', async (t) => {
  const world = await openWorld();
  const caller = await world.account(GRANTED);
  const one = await world.start({ point: 'item decided', occurrence: 4, moment: 'after' });
  const two = await world.start(null);
  await one.lifecycle.submit(caller, orderOf(Array.from({ length: 40 }, () => 'done' as const)));
  await Promise.race([one.life.died, quiet(world, two)]);
  await recover(world, two);
  const [job] = await jobsOf(world);
  t.match(job, { status: 'COMPLETED', completedItems: 40 });
  t.same(await brokenPromises(world, caller, GRANTED), []);
  await world.close();
});

t.test('a host that dies while it stops does not hold its world open', async (t) => {
  const world = await openWorld();
  const caller = await world.account(GRANTED);
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const work = performing(world.now);
  const held: Script = async (call) => {
    begun.resolve();
    await released.promise;
    return work(call);
  };
  const failpoint = { point: 'items counted', occurrence: 1, moment: 'before' } as const;
  const host = await world.start(failpoint, scripted(held));
  await host.lifecycle.submit(caller, orderOf(['done']));
  await begun.promise;
  const closed = world.close();
  released.resolve();
  await t.resolves(closed);
  await t.resolves(host.life.died, 'it reached its failpoint');
});

for (let seed = 1; seed <= 6; seed += 1) {
  const point = [
    'items claimed',
    'items counted',
    'job ended',
    'job cancelling',
    'job opened',
    'item decided',
  ][seed - 1];
  t.test(`calls and deaths at random keep every promise (seed ${seed})`, async (t) => {
    t.same(await round(seed, point ?? ''), []);
  });
}

t.test('a job is not seen from its end on, and the sweep removes all that it was', async (t) => {
  const world = await openWorld();
  const caller = await world.account(GRANTED);
  const host = await world.start(null);
  const { job } = await host.lifecycle.submit(caller, orderOf(['done', 'refused', 'done']));
  await ended(world);
  const find = () => host.stores.jobs.find(caller.accountId, job._id);
  t.equal((await find())?._id, job._id);
  world.elapse(Date.parse(job.expiresAt) - world.now().getTime() - 1);
  t.ok(await find(), 'a moment before its end');
  world.elapse(1);
  t.equal(await find(), null, 'before any sweep');
  for (const { sweep } of host.lifecycle.sweeps) while ((await sweep(world.now())) > 0);
  t.same(await jobsOf(world), []);
  t.same(await itemsOf(world), []);
  const left = await brokenPromises(world, caller, GRANTED);
  t.same(
    left,
    ['3 runs are counted of 0'],
    'its assets and their places are gone; what it used stays counted',
  );
  await world.close();
});

// needs: documents
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { POINTS } from '../../../chaos/failpoints.ts';
import { brokenPromises, jobsOf, quiet, recover } from '../../../chaos/invariants.ts';
import { type Fate, orderOf } from '../../../chaos/script.ts';
import { closeStores } from '../../../chaos/stores.ts';
import { openWorld } from '../../../chaos/world.ts';

t.teardown(closeStores);

const GRANTED = 40;
const FATES: Fate[] = ['done', 'refused', 'twice', 'ours', 'done', 'done'];
/** Longer than the engine's own pauses between the tries of an item, and all of them shorter than a lease. */
const PAUSE_MS = 5_000;
const LOOKS = 2_000;

/** Runs a job in a process that dies at a point, lets another find what is left, and tells what it found amiss. */
async function brokenBy(point: string, moment: 'before' | 'after', fates = FATES): Promise<string[]> {
  const world = await openWorld();
  const caller = await world.account(GRANTED);
  const dying = await world.start({ point, occurrence: 1, moment });
  const submitted = dying.lifecycle.submit(caller, orderOf(fates));
  const isCancelled = point.includes('cancel');
  const acted = submitted.then(async ({ job }) => {
    if (isCancelled) await dying.lifecycle.cancel(caller.accountId, job._id);
    for (let tries = 0; tries < 3; tries += 1) {
      await quiet(world, dying);
      world.elapse(PAUSE_MS);
      await dying.lifecycle.sweeps.find(({ name }) => name === 'retries of items')?.sweep(world.now());
      await dying.lifecycle.pollJobs();
    }
    const isDone = async () => (await jobsOf(world))[0]?.phase === 'done';
    for (let look = 0; look < LOOKS && !(await isDone()); look += 1) await pause(5);
  });
  await Promise.race([dying.life.died, acted]);
  const wasReached = dying.life.isDead;
  await recover(world, await world.start(null));
  const broken = await brokenPromises(world, caller, GRANTED);
  if (isCancelled && moment === 'after') {
    const [job] = await jobsOf(world);
    if (job?.status !== 'CANCELLED') broken.push(`the cancelled job is ${job?.status}`);
  }
  if (!wasReached) broken.push('the point was not reached');
  await world.close();
  return broken;
}

for (const point of Object.keys(POINTS)) {
  t.test(`a death at "${point}" loses nothing and doubles nothing`, async (t) => {
    const [before, after] = await Promise.all([brokenBy(point, 'before'), brokenBy(point, 'after')]);
    t.same(before, [], 'before it');
    t.same(after, [], 'after it');
  });
}

t.test(
  'what a process was submitting is undone by the next sweep once the process was seen to end',
  async (t) => {
    const world = await openWorld();
    const caller = await world.account(GRANTED);
    const dead = await Promise.all(
      ['items stored', 'items stored'].map(async (point) => {
        const host = await world.start({ point, occurrence: 1, moment: 'after' });
        host.lifecycle.submit(caller, orderOf(FATES)).catch(() => undefined);
        await host.life.died;
        return host;
      }),
    );
    const alive = await world.start(null);
    const sweep = alive.lifecycle.sweeps.find(({ name }) => name === 'unfinished submits');
    await alive.stores.jobs.expireSubmits(dead[0]?.owner);
    world.elapse(4_000);
    await sweep?.sweep(world.now());
    t.equal((await jobsOf(world)).length, 2, 'its last writes may be on their way');
    world.elapse(2_000);
    await sweep?.sweep(world.now());
    t.match(
      await jobsOf(world),
      [{ phase: 'hidden', submitter: dead[1]?.owner }],
      'the other may submit still',
    );
    await alive.stores.jobs.expireSubmits();
    world.elapse(6_000);
    await sweep?.sweep(world.now());
    t.same(await jobsOf(world), []);
    await recover(world, alive);
    t.same(await brokenPromises(world, caller, GRANTED), []);
    await world.close();
  },
);

/** What is left to do after a job without a failure was ended by the update that counted its last outcomes. */
const AFTER_COMPLETION = [
  'items counted',
  'item events written',
  'items finished',
  'job event written',
  'job done',
];

for (const point of AFTER_COMPLETION) {
  t.test(`a death at "${point}" of a job that one item completes`, async (t) => {
    for (const moment of ['before', 'after'] as const)
      t.same(await brokenBy(point, moment, ['done']), [], moment);
  });
}

t.test('an end is announced behind its money: who hears of it finds the charge moved', async (t) => {
  const world = await openWorld();
  const caller = await world.account(GRANTED);
  const dying = await world.start({ point: 'runs paid', occurrence: 1, moment: 'before' });
  await dying.lifecycle.submit(caller, orderOf(['done', 'done', 'done', 'done']));
  await dying.life.died;
  const types = (await world.announced.find({})).map(({ type }) => type);
  t.notOk(types.includes('job.completed'), types.join(', '));
  await recover(world, await world.start(null));
  t.same(await brokenPromises(world, caller, GRANTED), []);
  await world.close();
});

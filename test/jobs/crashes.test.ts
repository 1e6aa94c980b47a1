// needs: documents
import t from 'tap';
import { brokenPromises, jobsOf, quiet, recover } from '../chaos/aftermath.ts';
import { POINTS } from '../chaos/failpoints.ts';
import { type Fate, orderOf } from '../chaos/script.ts';
import { openWorld } from '../chaos/world.ts';

const GRANTED = 40;
const FATES: Fate[] = ['done', 'refused', 'twice', 'done', 'ours', 'done', 'done', 'done'];

/** Runs a job in a process that dies at a point, lets another find what is left, and tells what it found amiss. */
async function brokenBy(point: string, moment: 'before' | 'after'): Promise<string[]> {
  const world = await openWorld();
  const caller = await world.account(GRANTED);
  const dying = await world.start({ point, occurrence: 1, moment });
  const submitted = dying.engine.submit(caller, orderOf(FATES));
  const isCancelled = point.includes('cancel');
  const acted = submitted.then(async ({ job }) => {
    if (isCancelled) await dying.engine.cancel(caller.accountId, job._id);
    await quiet(world, dying);
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

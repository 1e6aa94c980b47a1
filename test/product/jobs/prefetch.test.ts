// needs: nothing
import t from 'tap';
import { ActiveJob, ItemPrefetch } from '../../../src/product/jobs/engine/active-job.ts';
import type { JobDocument } from '../../../src/product/jobs/job.ts';

const SEEN = 60;

/** A prefetch that saw items of one length end, one after the other, so many milliseconds apart. */
function prefetchAfter(durationMs: number, apartMs: number, most = () => 1_000): ItemPrefetch {
  const prefetch = new ItemPrefetch(() => 1, most);
  for (let item = 1; item <= SEEN; item += 1)
    prefetch.recordWork(item * apartMs - durationMs, item * apartMs);
  return prefetch;
}

/** A large job whose items are claimed ahead as this prefetch says. */
function activeJobOn(prefetch: ItemPrefetch): ActiveJob {
  return new ActiveJob({ _id: 'job_1', type: 'process', totalItems: 500 } as JobDocument, prefetch);
}

t.test(
  'items are claimed together by the time between two ends, however long each of them takes',
  async (t) => {
    t.equal(prefetchAfter(300, 38).batchSize, 5, 'eight in hand, each of which waits for the others');
    t.equal(prefetchAfter(38, 38).batchSize, 5, 'one after the other');
    t.equal(prefetchAfter(300, 90).batchSize, 1, 'two would take more questions than two claims of one');
    t.equal(prefetchAfter(38, 5_000).batchSize, 5, 'a prefetch that idled between them is no slower for it');
    t.equal(prefetchAfter(0.01, 0.01).batchSize, 64, 'no more than a settlement counts');
  },
);

t.test('a batch is claimed when there is room for all of it, and enough is claimed until then', async (t) => {
  const prefetch = prefetchAfter(300, 38);
  const activeJob = activeJobOn(prefetch);
  let claims = 0;
  for (; activeJob.canClaim(0); claims += 1) activeJob.reserve(prefetch.batchSize);
  t.ok(activeJob.claimedCount < prefetch.limit, 'one slot is left for another job');
  t.ok(claims > 1);
  while (!activeJob.canClaim(0)) activeJob.reserve(-1);
  t.ok(
    activeJob.claimedCount >= 6,
    `${activeJob.claimedCount} items are read, at work or being stored when the next are claimed`,
  );
});

t.test('no more is claimed than an operator allows, from one change to the next', async (t) => {
  let most = 1_000;
  const prefetch = prefetchAfter(38, 38, () => most);
  const activeJob = activeJobOn(prefetch);
  const claimAll = () => {
    while (activeJob.canClaim(0)) activeJob.reserve(prefetch.batchSize);
    return prefetch.claimedCount;
  };
  const usual = claimAll();
  for (const allowed of [1, 2, 3, 5, 6]) {
    most = allowed;
    t.notOk(activeJob.canClaim(0), `${usual} are more than ${allowed}`);
    activeJob.reserve(-prefetch.claimedCount);
    t.equal(
      claimAll(),
      Math.max(1, allowed - 1),
      `${allowed}: one is left for another job, or one is claimed`,
    );
    activeJob.reserve(usual - prefetch.claimedCount);
  }
  most = 1_000;
  activeJob.reserve(-prefetch.claimedCount);
  t.equal(claimAll(), usual);
});

t.test('slow items are claimed one by one, as soon as one has left', async (t) => {
  const prefetch = prefetchAfter(900, 300);
  const activeJob = activeJobOn(prefetch);
  while (activeJob.canClaim(0)) activeJob.reserve(prefetch.batchSize);
  t.equal(activeJob.claimedCount, prefetch.limitPerJob);
  const slot = activeJob.takeSlot(() => undefined);
  slot.release();
  slot.release();
  t.equal(prefetch.claimedCount, prefetch.limitPerJob - 1, 'a slot is released once');
  t.ok(activeJob.canClaim(0));
});

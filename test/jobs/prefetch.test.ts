// needs: nothing
import t from 'tap';
import { canTake, entryOf } from '../../src/jobs/engine/entry.ts';
import { Prefetch, type WorkKind } from '../../src/jobs/engine/prefetch.ts';
import type { JobDocument } from '../../src/jobs/job.ts';

const SEEN = 60;

/** A prefetch that saw items of one length end, one after the other, so many milliseconds apart. */
function prefetchAfter(durationMs: number, apartMs: number): Prefetch {
  const prefetch = new Prefetch(() => 1);
  for (let item = 1; item <= SEEN; item += 1) prefetch.took(item * apartMs - durationMs, item * apartMs);
  return prefetch;
}

/** A job in the prefetch of batches. */
function entryIn(prefetch: Prefetch) {
  const prefetches = { batches: prefetch } as Record<WorkKind, Prefetch>;
  return entryOf(
    { _id: 'job_1', accountId: 'acc_1', type: 'process', totalItems: 500 } as JobDocument,
    prefetches,
  );
}

t.test(
  'items are claimed together by the time between two ends, however long each of them takes',
  async (t) => {
    t.equal(prefetchAfter(300, 38).batch, 5, 'eight in hand, each of which waits for the others');
    t.equal(prefetchAfter(38, 38).batch, 5, 'one after the other');
    t.equal(prefetchAfter(300, 90).batch, 1, 'two would take more questions than two claims of one');
    t.equal(prefetchAfter(38, 5_000).batch, 5, 'a prefetch that idled between them is no slower for it');
    t.equal(prefetchAfter(0.01, 0.01).batch, 64, 'no more than a settlement counts');
  },
);

t.test('a batch is claimed when there is room for all of it, and enough is in hand until then', async (t) => {
  const prefetch = prefetchAfter(300, 38);
  const entry = entryIn(prefetch);
  let claims = 0;
  const take = (count: number) => {
    entry.inHand += count;
    prefetch.inHand += count;
  };
  for (; canTake(entry); claims += 1) take(prefetch.batch);
  const most = entry.inHand;
  t.ok(most < prefetch.limit, 'one place is left for another job');
  t.ok(claims > 1);
  while (!canTake(entry)) take(-1);
  t.ok(
    entry.inHand >= 6,
    `${entry.inHand} items are read, at work or being stored when the next are claimed`,
  );
});

t.test('slow items are claimed one by one, as soon as one has left', async (t) => {
  const prefetch = prefetchAfter(900, 300);
  const entry = entryIn(prefetch);
  while (canTake(entry)) {
    entry.inHand += prefetch.batch;
    prefetch.inHand += prefetch.batch;
  }
  t.equal(entry.inHand, prefetch.limitOfJob);
  entry.inHand -= 1;
  prefetch.inHand -= 1;
  t.ok(canTake(entry));
});

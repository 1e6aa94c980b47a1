// needs: nothing
import t from 'tap';
import { canTake, entryOf } from '../../src/jobs/engine/entry.ts';
import { Lane, type LaneName } from '../../src/jobs/engine/lanes.ts';
import type { JobDocument } from '../../src/jobs/job.ts';

const SEEN = 60;

/** A lane that saw items of one length end, one after the other, so many milliseconds apart. */
function laneAfter(durationMs: number, apartMs: number): Lane {
  const lane = new Lane(() => 1);
  for (let item = 1; item <= SEEN; item += 1) lane.took(item * apartMs - durationMs, item * apartMs);
  return lane;
}

/** A job in the lane of batches. */
function entryIn(lane: Lane) {
  const lanes = { batches: lane } as Record<LaneName, Lane>;
  return entryOf(
    { _id: 'job_1', accountId: 'acc_1', type: 'process', totalItems: 500 } as JobDocument,
    lanes,
  );
}

t.test(
  'items are claimed together by the time between two ends, however long each of them takes',
  async (t) => {
    t.equal(laneAfter(300, 38).batch, 5, 'eight in hand, each of which waits for the others');
    t.equal(laneAfter(38, 38).batch, 5, 'one after the other');
    t.equal(laneAfter(300, 90).batch, 1, 'two would take more questions than two claims of one');
    t.equal(laneAfter(38, 5_000).batch, 5, 'a lane that idled between them is no slower for it');
    t.equal(laneAfter(0.01, 0.01).batch, 64, 'no more than a settlement counts');
  },
);

t.test('a batch is claimed when there is room for all of it, and enough is in hand until then', async (t) => {
  const lane = laneAfter(300, 38);
  const entry = entryIn(lane);
  let claims = 0;
  const take = (count: number) => {
    entry.inHand += count;
    lane.inHand += count;
  };
  for (; canTake(entry); claims += 1) take(lane.batch);
  const most = entry.inHand;
  t.ok(most < lane.limit, 'one place is left for another job');
  t.ok(claims > 1);
  while (!canTake(entry)) take(-1);
  t.ok(
    entry.inHand >= 6,
    `${entry.inHand} items are read, at work or being stored when the next are claimed`,
  );
});

t.test('slow items are claimed one by one, as soon as one has left', async (t) => {
  const lane = laneAfter(900, 300);
  const entry = entryIn(lane);
  while (canTake(entry)) {
    entry.inHand += lane.batch;
    lane.inHand += lane.batch;
  }
  t.equal(entry.inHand, lane.limitOfJob);
  entry.inHand -= 1;
  lane.inHand -= 1;
  t.ok(canTake(entry));
});

// needs: nothing
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { OutcomeBatcher } from '../../../src/product/jobs/engine/outcome-batcher.ts';
import type { DecidedItem } from '../../../src/product/jobs/engine/outcomes.ts';
import type { ClaimedItem, ItemOutcome, JobDocument } from '../../../src/product/jobs/job.ts';
import { manualClock } from '../../support/clock.ts';

const GATHER_MS = 250;
const JOB = { _id: 'job_1', phase: 'open', settlement: null } as JobDocument;
const DONE = { status: 'COMPLETED' } as ItemOutcome;

/** A batcher over stores that agree at once, and what it does. */
function batcherAtHand() {
  const clock = manualClock();
  const settlements: number[][] = [];
  const left: number[] = [];
  const batcher = new OutcomeBatcher({
    items: { decide: async () => true },
    outcomes: {
      async record(_jobId: string, batch: readonly DecidedItem[]) {
        settlements.push(batch.map(({ index }) => index));
        return JOB;
      },
    },
    completion: { completeIfOver: async (job) => job },
    clock,
  });
  async function settle(index: number, hasMore: boolean): Promise<void> {
    const item = { _id: `job_1/${index}`, index } as ClaimedItem;
    const slot = { release: () => void left.push(index), hasSiblings: () => hasMore };
    const { signal } = new AbortController();
    void batcher.record({ job: JOB, item, outcome: DONE, slot, signal });
    await turn();
  }
  return { clock, settlements, left, settle };
}

t.test('outcomes that follow soon upon a settlement go together into the next one', async (t) => {
  const { clock, settlements, settle } = batcherAtHand();
  for (const index of [0, 1, 2, 3]) await settle(index, true);
  t.same(settlements, [[0]], 'the first is settled at once, the others gather');
  clock.advance(GATHER_MS - 1);
  await turn();
  t.same(settlements, [[0]]);
  clock.advance(1);
  await turn();
  t.same(settlements, [[0], [1, 2, 3]]);
});

t.test('an outcome that comes long after the last settlement waits for nothing', async (t) => {
  const { clock, settlements, settle } = batcherAtHand();
  await settle(0, true);
  clock.advance(GATHER_MS);
  await settle(1, true);
  t.same(settlements, [[0], [1]]);
});

t.test('the last outcome of a process is settled at once, and all that wait with it', async (t) => {
  const { clock, settlements, settle } = batcherAtHand();
  for (const index of [0, 1, 2]) await settle(index, true);
  await settle(3, false);
  t.same(settlements, [[0], [1, 2, 3]]);
  clock.advance(GATHER_MS);
  await turn();
  t.equal(settlements.length, 2, 'nothing is left to settle');
});

t.test('an item leaves room for another as soon as it is decided, until a whole batch waits', async (t) => {
  const { settlements, left, settle } = batcherAtHand();
  await settle(0, true);
  for (let index = 1; index <= 64; index += 1) await settle(index, true);
  t.same(
    settlements.map((batch) => batch.length),
    [1, 64],
    'a whole batch is settled at once',
  );
  t.equal(left.length, 64, 'the one that filled it kept its place until then');
});

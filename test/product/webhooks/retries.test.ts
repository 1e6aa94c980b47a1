// needs: nothing
import t from 'tap';
import { nextAttemptAt } from '../../../src/product/webhooks/deliveries/attempt.ts';

const QUEUED = new Date('2026-05-04T03:02:01.000Z');
const MINUTE_MS = 60_000;

/** When each attempt begins, in minutes after queueing, if each takes so long. */
function offsets(attemptMs: number): number[] {
  const begins: number[] = [];
  let at: Date | null = QUEUED;
  while (at !== null) {
    begins.push((at.getTime() - QUEUED.getTime()) / MINUTE_MS);
    at = nextAttemptAt(begins.length, new Date(at.getTime() + attemptMs), QUEUED);
  }
  return begins;
}

t.test(
  'twelve attempts lie at 0, 1, 3, 7, 15, 31 min, 1 h 3, 2 h 7, 4 h 15, 8 h 31, 14 h 31, 20 h 31',
  async (t) => {
    t.same(offsets(0), [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 871, 1231]);
  },
);

t.test('each wait is counted from the end of the attempt before', async (t) => {
  t.same(offsets(MINUTE_MS), [0, 2, 5, 10, 19, 36, 69, 134, 263, 520, 881, 1242]);
});

t.test('no attempt begins later than 24 h after queueing, nor after the twelfth', async (t) => {
  const dayMs = 24 * 60 * MINUTE_MS;
  const sixHoursMs = 6 * 60 * MINUTE_MS;
  const last = new Date(QUEUED.getTime() + dayMs - sixHoursMs);
  t.same(nextAttemptAt(11, last, QUEUED), new Date(QUEUED.getTime() + dayMs), 'at 24 h exactly, yes');
  t.equal(nextAttemptAt(11, new Date(last.getTime() + 1), QUEUED), null, 'a millisecond later, no');
  t.equal(nextAttemptAt(12, QUEUED, QUEUED), null);
  t.ok(offsets(50 * MINUTE_MS).every((minutes) => minutes <= 24 * 60));
});

// needs: nothing
import t from 'tap';
import { DeadlineError } from '../../../workers/image/refusal.ts';
import { completesInTime, TrialTime } from '../../../workers/image/search/time.ts';
import { clockAt } from './search-clock.ts';

const DEADLINE_MS = 10_000;

t.test(
  'with a file that keeps the promise a search ends 2 s before its deadline, without one it goes on',
  async (t) => {
    let now = 0;
    let isKept = false;
    const time = new TrialTime({ deadlineMs: DEADLINE_MS, clock: clockAt(() => now) }, 0, () => isKept);
    t.equal(time.hasTime(9), true, 'no time of a trial is known');
    now = 4_500;
    time.recordTrial(4_500);
    t.equal(time.hasTime(1), true, 'nothing is kept: the next may end at 9 s');
    t.equal(time.hasTime(2), false);
    isKept = true;
    now = 6_500;
    time.recordTrial(2_000);
    t.equal(time.hasTime(1), false, 'the next would end at 8.5 s');
    t.equal(time.timeoutMs(), 1_500);
    t.equal(time.timeoutMs(400), 1_100, 'its file has to be judged as well');
    t.throws(() => time.timeoutMs(1_500), DeadlineError);
    t.equal(
      await completesInTime(async () => {
        throw new DeadlineError();
      }),
      false,
    );
    await t.rejects(
      completesInTime(async () => {
        throw new Error('broken');
      }),
      { message: 'broken' },
    );
  },
);

t.test('a search that has reached its target leaves the rest of the time to others', async (t) => {
  let isKept = false;
  const limits = { deadlineMs: DEADLINE_MS, improvesUntilMs: 3_000, clock: clockAt(() => 1_000) };
  const time = new TrialTime(limits, 2_500, () => isKept);
  t.equal(time.hasTime(3), true, 'nothing is kept: they may end at 8.5 s');
  isKept = true;
  t.equal(time.hasTime(1), false, 'the next would end at 3.5 s');
});

t.test('the time of a trial follows from its CPU time and the pace of the whole search', async (t) => {
  let now = 0;
  const time = new TrialTime({ deadlineMs: DEADLINE_MS, clock: clockAt(() => now, 1 / 4) }, 0, () => false);
  now = 4_000;
  time.recordTrial(1_300);
  t.equal(time.hasTime(1), true, 'it takes 5.2 s');
  t.equal(time.hasTime(2), false);
});

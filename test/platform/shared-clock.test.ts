// needs: nothing
import t from 'tap';
import { SharedClock } from '../../src/platform/clock.ts';

/** A host and the shared clock, each with its own hands, and the timer between two measures. */
function hands(differenceMs: number) {
  const logged: string[] = [];
  const own = { ms: 1_000_000, shared: 1_000_000 + differenceMs, answerMs: 0 };
  let due: () => void = () => t.fail('nothing was planned');
  const open = () =>
    SharedClock.open({
      now: () => new Date(own.ms),
      async readTime() {
        own.ms += own.answerMs;
        own.shared += own.answerMs;
        return own.shared - own.answerMs / 2;
      },
      timer: {
        after(_delayMs, callback) {
          due = callback;
          return () => undefined;
        },
      },
      log: { error: () => logged.push('error'), warn: () => logged.push('warn') },
    });
  const minute = async () => {
    due();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { own, logged, open, minute };
}

t.test('a clock that is off is put right, and said from 5 s on', async (t) => {
  for (const [differenceMs, isWrong, yields] of [
    [-90_000, true, true],
    [14_000, true, false],
    [4_000, false, false],
  ] as const) {
    const { own, logged, open } = hands(differenceMs);
    own.answerMs = 40;
    const clock = await open();
    t.equal(clock.now().getTime(), own.shared);
    t.same([clock.isWrong(), clock.yieldsSweeps()], [isWrong, yields]);
    t.same(logged, isWrong ? ['error'] : []);
  }
});

t.test('less than a second is no difference, and a slow answer no measure', async (t) => {
  const near = hands(700);
  t.equal((await near.open()).now().getTime(), near.own.ms);
  const slow = hands(60_000);
  slow.own.answerMs = 5_000;
  const clock = await slow.open();
  t.same([clock.now().getTime(), slow.logged], [slow.own.ms, ['warn']]);
  slow.own.answerMs = 0;
  await slow.minute();
  t.equal(clock.now().getTime(), slow.own.shared);
});

t.test('a clock that is set while the service runs is right again with the next measure', async (t) => {
  const { own, logged, open, minute } = hands(0);
  const clock = await open();
  own.ms += 120_000;
  await minute();
  t.equal(clock.now().getTime(), own.shared);
  own.ms = own.shared;
  await minute();
  t.equal(clock.now().getTime(), own.shared);
  t.same([clock.differenceMs(), clock.isWrong(), logged], [0, false, ['error']]);
});

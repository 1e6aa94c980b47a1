// needs: nothing
import t from 'tap';
import { HEARTBEAT_INTERVAL_MS, Heartbeats } from '../../../src/host/processes/heartbeats.ts';
import { manualClock } from '../../support/clock.ts';

const TIMEOUT_MS = 15_000;

/** Heartbeats under a clock whose hands the test turns. */
function underClock() {
  const silent: string[] = [];
  const clock = manualClock();
  const heartbeats = new Heartbeats<string>({
    timeoutMs: TIMEOUT_MS,
    onSilent: (process) => silent.push(process),
    clock,
  });
  /** Lets a second pass for each of so many. */
  function pass(seconds: number, eachSecond: () => void = () => {}): void {
    for (let second = 0; second < seconds; second += 1) {
      eachSecond();
      clock.advance(HEARTBEAT_INTERVAL_MS);
    }
  }
  return { heartbeats, silent, pass, clock };
}

t.test('a process that falls silent is told once, and one that beats never', async (t) => {
  const { heartbeats, silent, pass } = underClock();
  heartbeats.watch('beating');
  heartbeats.watch('hung');
  pass(15, () => heartbeats.beat('beating'));
  t.same(silent, [], 'not before its time');
  pass(60, () => heartbeats.beat('beating'));
  t.same(silent, ['hung']);
});

t.test('one that ended is not waited for', async (t) => {
  const { heartbeats, silent, pass } = underClock();
  heartbeats.watch('gone');
  heartbeats.forget('gone');
  pass(60);
  t.same(silent, []);
});

t.test('a listener that was away itself accuses nobody', async (t) => {
  const { heartbeats, silent, pass, clock } = underClock();
  heartbeats.watch('a');
  pass(3, () => heartbeats.beat('a'));
  clock.advance(60_000);
  pass(5, () => heartbeats.beat('a'));
  t.same(silent, []);
});

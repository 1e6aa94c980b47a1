// needs: nothing
import t from 'tap';
import { ConnectionBalancer, connectionsToRelease } from '../../../src/host/processes/connection-balancer.ts';
import { HEARTBEAT_INTERVAL_MS } from '../../../src/host/processes/heartbeats.ts';
import { manualClock } from '../../support/clock.ts';

function releasesOf(...loads: number[]): number[] {
  const releases = connectionsToRelease(new Map(loads.map((load, index) => [index, load])));
  return loads.map((_load, index) => releases.get(index) ?? 0);
}

/** Connections that each have one call in hand all the time: released ones go round the processes in turn. */
function afterRound(connections: number[], turn: number): number[] {
  const releases = releasesOf(...connections);
  const next = connections.map((count, index) => count - (releases[index] ?? 0));
  const released = releases.reduce((sum, count) => sum + count, 0);
  for (let index = 0; index < released; index += 1) {
    const taker = (turn + index) % next.length;
    next[taker] = (next[taker] ?? 0) + 1;
  }
  return next;
}

t.test('who has more than the least busy process gives that up', async (t) => {
  t.same(releasesOf(8, 0), [8, 0]);
  t.same(releasesOf(4, 4, 0, 0), [4, 4, 0, 0]);
  t.same(releasesOf(6, 2, 3), [4, 0, 0], 'a difference of one is none');
  t.same(releasesOf(3.6, 0.4), [3, 0]);
});

t.test('nothing is given up where nothing would be won', async (t) => {
  t.same(releasesOf(), []);
  t.same(releasesOf(40), [0], 'one process');
  t.same(releasesOf(0, 0, 0), [0, 0, 0]);
  t.same(releasesOf(2, 1), [0, 0], 'one connection more');
  t.same(releasesOf(1.4, 0), [0, 0]);
  t.same(releasesOf(40, 33), [0, 0], 'chance makes such a difference between busy processes');
});

t.test('from every start the shares are even after a few rounds, and rest', async (t) => {
  for (const start of [
    [8, 0],
    [0, 64],
    [5, 3],
    [2, 2, 0, 0],
    [30, 1, 7],
    [1, 0],
    [9, 9, 9, 0],
  ]) {
    for (const turn of start.keys()) {
      let now = start;
      for (let round = 0; round < 3; round += 1) now = afterRound(now, turn + round);
      t.ok(
        Math.max(...now) - Math.min(...now) <= Math.max(1, 0.2 * Math.max(...now)),
        `${start} became ${now}`,
      );
      t.same(afterRound(now, turn), now, `${start} rests`);
    }
  }
});

/** A balance of two processes, and what it asked of them. */
function underClock() {
  const asked: [string, number][] = [];
  const clock = manualClock();
  const balance = new ConnectionBalancer<string>({ release: (...release) => asked.push(release), clock });
  function beat(loads: Record<string, number>): void {
    clock.advance(HEARTBEAT_INTERVAL_MS);
    for (const process of Object.keys(loads)) balance.watch(process);
    for (const [process, load] of Object.entries(loads)) balance.report(process, load);
  }
  return { balance, asked, beat };
}

t.test('a process that starts beside a busy one is noticed with its first beats', async (t) => {
  const { asked, beat } = underClock();
  beat({ old: 8 });
  t.same(asked, [], 'alone');
  for (let count = 0; count < 2; count += 1) beat({ old: 8, young: 0 });
  t.same(asked, [['old', 8]]);
  beat({ old: 6, young: 2 });
  for (let count = 0; count < 10; count += 1) beat({ old: 4, young: 4 });
  t.same(asked, [['old', 8]], 'and then it rests');
});

t.test('what only one round of figures shows is no reason', async (t) => {
  const { asked, beat } = underClock();
  beat({ one: 0, other: 0 });
  for (let count = 0; count < 10; count += 1) {
    beat({ one: 6, other: 0 });
    beat({ one: 6, other: 6 });
    beat({ one: 0, other: 6 });
    beat({ one: 0, other: 0 });
  }
  t.same(asked, [], 'calls that begin and end at both, in seconds of their own');
  for (let count = 0; count < 3; count += 1) beat({ one: 6 - count, other: 0 });
  t.same(asked, [['one', 5]], 'the less of two rounds');
});

t.test('one that hangs or is gone has no share', async (t) => {
  const { balance, asked, beat } = underClock();
  beat({ hung: 0, idle: 0, busy: 0 });
  for (let count = 0; count < 10; count += 1) beat({ idle: 0, busy: 0 });
  t.same(asked, []);
  for (let count = 0; count < 4; count += 1) beat({ idle: 8, busy: 8 });
  t.same(asked, [], 'the one that hangs would have none');
  for (let count = 0; count < 4; count += 1) beat({ idle: 1, busy: 8 });
  t.same(asked[0], ['busy', 7], 'the others go on without it');
  balance.forget('hung');
  balance.forget('idle');
  const before = asked.length;
  for (let count = 0; count < 4; count += 1) beat({ busy: 8 });
  t.equal(asked.length, before, 'none is left beside it');
});

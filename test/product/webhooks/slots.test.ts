// needs: nothing
import t from 'tap';
import { AttemptSlots, type WorkerSlot } from '../../../src/product/webhooks/deliveries/slots.ts';

function open(slots: number) {
  const clock = { ms: 0 };
  const shared = new AttemptSlots({ slots: () => slots, slotsOfAccount: () => slots, now: () => clock.ms });
  /** A turn with one attempt, which makes the endpoint slow or good. */
  const attempt = (member: string, hasFailed: boolean, tookMs: number) => {
    const turn = shared.takeWorkerSlot('a', member) as WorkerSlot;
    turn.recordAttempt(hasFailed, tookMs);
    turn.release();
  };
  return { clock, slots: shared, attempt };
}

t.test('slow endpoints hold at most half of the slots, good ones the rest', async (t) => {
  const { slots, attempt } = open(4);
  for (const member of ['a/1', 'a/2']) attempt(member, true, 10);
  attempt('a/3', false, 2_001);
  attempt('a/4', false, 2_000);
  t.same(['a/1', 'a/2', 'a/3', 'a/4'].map(slots.isSlow), [true, true, true, false]);
  const first = slots.takeWorkerSlot('a', 'a/1');
  t.ok(slots.takeWorkerSlot('a', 'a/2'));
  t.equal(slots.takeWorkerSlot('a', 'a/3'), null);
  t.ok(slots.takeWorkerSlot('b', 'b/1'), 'one that nobody knows');
  t.equal(slots.free, 1);
  first?.release();
  t.ok(slots.takeWorkerSlot('a', 'a/3'));
});

t.test('an endpoint that answers quickly is good again', async (t) => {
  const { slots, attempt } = open(2);
  attempt('a/1', true, 10);
  attempt('a/1', false, 10);
  t.equal(slots.isSlow('a/1'), false);
});

t.test('a turn ends after a failed attempt, and when others that are slow hold their half', async (t) => {
  const { slots } = open(4);
  const turns = ['a/1', 'a/2', 'a/3'].map((member) => slots.takeWorkerSlot('a', member) as WorkerSlot);
  turns[0]?.recordAttempt(true, 10);
  t.equal(turns[0]?.mayContinue(), false);
  turns[1]?.recordAttempt(false, 3_000);
  t.equal(turns[1]?.mayContinue(), true, 'slow, and within the half');
  turns[2]?.recordAttempt(false, 3_000);
  t.equal(turns[2]?.mayContinue(), false, 'the third slow one');
});

t.test('a turn of a second ends when every slot is taken, and only then', async (t) => {
  const { slots, clock } = open(2);
  const turn = slots.takeWorkerSlot('a', 'a/1');
  clock.ms = 5_000;
  t.equal(turn?.mayContinue(), true);
  const other = slots.takeWorkerSlot('b', 'b/1');
  t.equal(turn?.mayContinue(), false);
  clock.ms = 5_999;
  t.equal(other?.mayContinue(), true);
  clock.ms = 6_000;
  t.equal(other?.mayContinue(), false);
});

t.test('an account has its own bound, test deliveries included', async (t) => {
  const slots = new AttemptSlots({ slots: () => 8, slotsOfAccount: () => 2, now: () => 0 });
  const release = slots.takeAccountSlot('a');
  const turn = slots.takeWorkerSlot('a', 'a/1');
  t.equal(slots.takeWorkerSlot('a', 'a/2'), null);
  t.equal(slots.takeAccountSlot('a'), null);
  t.ok(slots.takeWorkerSlot('b', 'b/1'));
  turn?.release();
  release?.();
  t.ok(slots.takeWorkerSlot('a', 'a/2'));
});

t.test('the number of slots may change while workers are at work', (t) => {
  let limit = 1;
  const slots = new AttemptSlots({ slots: () => limit, slotsOfAccount: () => limit, now: () => 0 });
  const turn = slots.takeWorkerSlot('acc_a', 'one');
  t.equal(slots.takeWorkerSlot('acc_a', 'two'), null, 'the account has its one slot');
  limit = 3;
  t.equal(slots.free, 2);
  t.ok(slots.takeWorkerSlot('acc_a', 'two'));
  limit = 1;
  t.equal(slots.free, -1, 'nothing is claimed until workers have ended');
  turn?.release();
  t.equal(slots.free, 0);
  t.end();
});

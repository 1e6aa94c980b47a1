// needs: nothing
import { EventEmitter } from 'node:events';
import type { FastifyReply, FastifyRequest } from 'fastify';
import t from 'tap';
import type { AdmissionRequest, Coordination } from '../../../src/platform/stores/coordination/port.ts';
import { CallSlots } from '../../../src/product/accounts/gate/slots.ts';
import { manualClock } from '../../support/clock.ts';

/** Notes what it is asked, and grants everything; `fails` makes the next question fail. */
function notingCoordination() {
  const admitted: AdmissionRequest[] = [];
  const released: string[] = [];
  const renewed: string[] = [];
  const state = { fails: false };
  const coordination = {
    async admit(question: AdmissionRequest) {
      if (state.fails) throw new Error('away');
      admitted.push(question);
      return { blockedMs: 0, flagged: false, rate: null, slot: true };
    },
    async releaseSlot(_key: string, holder: string) {
      released.push(holder);
    },
    async renewSlot(_key: string, holder: string) {
      renewed.push(holder);
      return true;
    },
  };
  return { admitted, released, renewed, state, coordination: coordination as unknown as Coordination };
}

function connection() {
  const raw = Object.assign(new EventEmitter(), { destroyed: false });
  return {
    request: {} as FastifyRequest,
    reply: { raw } as unknown as FastifyReply,
    close: () => raw.emit('close'),
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A call of account a that got a slot, and how its connection closes. */
async function call(slots: CallSlots, key = 'calls/a') {
  const { request, reply, close } = connection();
  const slot = slots.reuseOrCreateSlot(key, 4);
  if (!slots.isReusable(slot)) await slots.admit({}, slot);
  slots.hold(request, reply, slot);
  return { request, slot, close };
}

t.test('a slot that comes back goes along with the next question', async (t) => {
  const { admitted, released, coordination } = notingCoordination();
  const slots = new CallSlots(coordination, 'host/1', manualClock());
  (await call(slots)).close();
  await turn();
  await slots.admit({});
  await slots.admit({});
  t.same(admitted.slice(1), [{ returned: [{ key: 'calls/a', holder: 'host/1/1' }] }, {}]);
  t.same(released, []);
});

t.test('the next call of the account takes it over without a question', async (t) => {
  const { admitted, released, coordination } = notingCoordination();
  const clock = manualClock();
  const slots = new CallSlots(coordination, 'host/1', clock);
  for (let calls = 0; calls < 10; calls += 1) {
    const { slot, close } = await call(slots);
    t.equal(slot.holder, 'host/1/1');
    close();
    await turn();
  }
  t.equal(admitted.length, 1);
  t.equal((await call(slots, 'calls/b')).slot.holder, 'host/1/2', 'another account has slots of its own');
  t.same(admitted[1]?.returned, [{ key: 'calls/a', holder: 'host/1/1' }]);
  t.same(released, []);
});

t.test('two calls at once never have the same slot', async (t) => {
  const { coordination } = notingCoordination();
  const slots = new CallSlots(coordination, 'host/1');
  (await call(slots)).close();
  await turn();
  const [one, two] = [await call(slots), await call(slots)];
  t.same([one.slot.holder, two.slot.holder], ['host/1/1', 'host/1/2']);
});

t.test('after half a minute from call to call it is asked for again, under its own name', async (t) => {
  const { admitted, coordination } = notingCoordination();
  const clock = manualClock();
  const slots = new CallSlots(coordination, 'host/1', clock);
  const long = await call(slots);
  clock.advance(30_000);
  long.close();
  await turn();
  (await call(slots)).close();
  t.same(
    admitted.map(({ slot }) => slot?.holder),
    ['host/1/1', 'host/1/1'],
  );
});

t.test('the slot of a call that is refused goes on to the next', async (t) => {
  const { admitted, coordination } = notingCoordination();
  const slots = new CallSlots(coordination, 'host/1');
  (await call(slots)).close();
  await turn();
  const slot = slots.reuseOrCreateSlot('calls/a', 4);
  t.ok(slots.isReusable(slot));
  slots.giveBack(slot);
  t.equal((await call(slots)).slot.holder, 'host/1/1');
  t.equal(admitted.length, 1);
});

t.test('it waits for the work behind the call, and at rest comes back by itself', async (t) => {
  const { admitted, released, coordination } = notingCoordination();
  const clock = manualClock();
  const slots = new CallSlots(coordination, 'host/1', clock);
  const [one, other] = [await call(slots), await call(slots)];
  const work = Promise.withResolvers<void>();
  slots.keepUntil(one.request, work.promise);
  one.close();
  await turn();
  await slots.admit({});
  t.same(admitted.at(-1), {}, 'nothing comes back while the work goes on');
  work.resolve();
  await turn();
  clock.advance(15);
  other.close();
  await turn();
  t.same(released, []);
  clock.advance(5);
  t.same(released, ['host/1/1']);
  clock.advance(15);
  t.same(released, ['host/1/1', 'host/1/2'], 'each in its own time');
});

t.test('a call whose response is held back has given its slot back before, once', async (t) => {
  const { released, coordination } = notingCoordination();
  const clock = manualClock();
  const slots = new CallSlots(coordination, 'host/1', clock);
  const [held, other] = [await call(slots), await call(slots)];
  slots.end(held.request);
  await turn();
  t.equal((await call(slots)).slot.holder, 'host/1/1', 'the next call has it');
  held.close();
  await turn();
  t.equal((await call(slots)).slot.holder, 'host/1/3', 'the close gives nothing back');
  other.close();
  await turn();
  clock.advance(20);
  t.same(released, ['host/1/2']);
});

t.test('a question that fails loses no slot, neither those on their way back nor its own', async (t) => {
  const { released, state, coordination } = notingCoordination();
  const slots = new CallSlots(coordination, 'host/1');
  (await call(slots)).close();
  await turn();
  state.fails = true;
  await t.rejects(slots.admit({}, slots.reuseOrCreateSlot('calls/b', 4)), { message: 'away' });
  t.same(released, ['host/1/1', 'host/1/2']);
});

t.test('the slot of a download is renewed for as long as its connection is open', async (t) => {
  const { renewed, coordination } = notingCoordination();
  const clock = manualClock();
  const slots = new CallSlots(coordination, 'host/1', clock);
  const { request, reply, close } = connection();
  const slot = slots.reuseOrCreateSlot('downloads/a', 2);
  await slots.admit({}, slot);
  slots.holdLong(request, reply, slot);
  for (let minute = 0; minute < 3; minute += 1) clock.advance(60_000);
  t.equal(renewed.length, 3, 'well within its lease of 150 s');
  close();
  await turn();
  clock.advance(60_000);
  t.equal(renewed.length, 3);
});

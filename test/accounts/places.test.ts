// needs: nothing
import { EventEmitter } from 'node:events';
import type { FastifyReply, FastifyRequest } from 'fastify';
import t from 'tap';
import { createPlaces, type Places } from '../../src/accounts/gate/places.ts';
import type { AdmitQuestion, Coordination } from '../../src/stores/coordination/port.ts';
import { handClock } from '../clock.ts';

/** Notes what it is asked, and grants everything; `fails` makes the next question fail. */
function notingCoordination() {
  const admitted: AdmitQuestion[] = [];
  const released: string[] = [];
  const state = { fails: false };
  const coordination = {
    async admit(question: AdmitQuestion) {
      if (state.fails) throw new Error('away');
      admitted.push(question);
      return { blockedMs: 0, marked: false, rate: null, place: true };
    },
    async releasePlace(_key: string, holder: string) {
      released.push(holder);
    },
  };
  return { admitted, released, state, coordination: coordination as unknown as Coordination };
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

/** A call of account a that got a place, and how its connection closes. */
async function call(places: Places, key = 'calls/a') {
  const { request, reply, close } = connection();
  const place = places.placeFor(key, 4);
  if (!places.isHeld(place)) await places.ask({}, place);
  places.hold(request, reply, place);
  return { request, place, close };
}

t.test('a place that comes back goes along with the next question', async (t) => {
  const { admitted, released, coordination } = notingCoordination();
  const places = createPlaces(coordination, 'host/1');
  (await call(places)).close();
  await turn();
  await places.ask({});
  await places.ask({});
  t.same(admitted.slice(1), [{ returned: [{ key: 'calls/a', holder: 'host/1/1' }] }, {}]);
  t.same(released, []);
});

t.test('the next call of the account takes it over without a question', async (t) => {
  const { admitted, released, coordination } = notingCoordination();
  const clock = handClock();
  const places = createPlaces(coordination, 'host/1', clock);
  for (let calls = 0; calls < 10; calls += 1) {
    const { place, close } = await call(places);
    t.equal(place.holder, 'host/1/1');
    close();
    await turn();
  }
  t.equal(admitted.length, 1);
  t.equal((await call(places, 'calls/b')).place.holder, 'host/1/2', 'another account has places of its own');
  t.same(admitted[1]?.returned, [{ key: 'calls/a', holder: 'host/1/1' }]);
  t.same(released, []);
});

t.test('two calls at once never have the same place', async (t) => {
  const { coordination } = notingCoordination();
  const places = createPlaces(coordination, 'host/1');
  (await call(places)).close();
  await turn();
  const [one, two] = [await call(places), await call(places)];
  t.same([one.place.holder, two.place.holder], ['host/1/1', 'host/1/2']);
});

t.test('after half a minute from call to call it is asked for again, under its own name', async (t) => {
  const { admitted, coordination } = notingCoordination();
  const clock = handClock();
  const places = createPlaces(coordination, 'host/1', clock);
  const long = await call(places);
  clock.advance(30_000);
  long.close();
  await turn();
  (await call(places)).close();
  t.same(
    admitted.map(({ place }) => place?.holder),
    ['host/1/1', 'host/1/1'],
  );
});

t.test('the place of a call that is refused goes on to the next', async (t) => {
  const { admitted, coordination } = notingCoordination();
  const places = createPlaces(coordination, 'host/1');
  (await call(places)).close();
  await turn();
  const place = places.placeFor('calls/a', 4);
  t.ok(places.isHeld(place));
  places.giveBack(place);
  t.equal((await call(places)).place.holder, 'host/1/1');
  t.equal(admitted.length, 1);
});

t.test('it waits for the work behind the call, and at rest comes back by itself', async (t) => {
  const { admitted, released, coordination } = notingCoordination();
  const clock = handClock();
  const places = createPlaces(coordination, 'host/1', clock);
  const [one, other] = [await call(places), await call(places)];
  const work = Promise.withResolvers<void>();
  places.keepUntil(one.request, work.promise);
  one.close();
  await turn();
  await places.ask({});
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

t.test('a question that fails loses no place, neither those on their way back nor its own', async (t) => {
  const { released, state, coordination } = notingCoordination();
  const places = createPlaces(coordination, 'host/1');
  (await call(places)).close();
  await turn();
  state.fails = true;
  await t.rejects(places.ask({}, places.placeFor('calls/b', 4)), { message: 'away' });
  t.same(released, ['host/1/1', 'host/1/2']);
});

// needs: nothing
import { EventEmitter } from 'node:events';
import type { FastifyReply, FastifyRequest } from 'fastify';
import t from 'tap';
import { createPlaces } from '../../src/accounts/gate/places.ts';
import type { AdmitQuestion, Coordination } from '../../src/stores/coordination/port.ts';

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

t.test('a place that comes back goes along with the next question', async (t) => {
  const { admitted, released, coordination } = notingCoordination();
  const places = createPlaces(coordination, 'host/1');
  const { request, reply, close } = connection();
  places.hold(request, reply, places.questionFor('calls/a', 4));
  close();
  await turn();
  await places.ask({});
  await places.ask({});
  t.same(admitted, [{ returned: [{ key: 'calls/a', holder: 'host/1/1' }] }, {}]);
  t.same(released, []);
});

t.test('it waits for the work behind the call, and at rest comes back by itself', async (t) => {
  const { admitted, released, coordination } = notingCoordination();
  const places = createPlaces(coordination, 'host/1');
  const { request, reply, close } = connection();
  const work = Promise.withResolvers<void>();
  places.hold(request, reply, places.questionFor('calls/a', 4));
  places.keepUntil(request, work.promise);
  close();
  await turn();
  await places.ask({});
  t.same(admitted, [{}], 'nothing comes back while the work goes on');
  work.resolve();
  for (let look = 0; look < 1_000 && released.length === 0; look += 1)
    await new Promise((again) => setTimeout(again, 1));
  t.same(released, ['host/1/1']);
});

t.test('a question that fails loses no place', async (t) => {
  const { released, state, coordination } = notingCoordination();
  const places = createPlaces(coordination, 'host/1');
  const { request, reply, close } = connection();
  places.hold(request, reply, places.questionFor('calls/a', 4));
  close();
  await turn();
  state.fails = true;
  await t.rejects(places.ask({}), { message: 'away' });
  t.same(released, ['host/1/1']);
});

import { setTimeout as pause } from 'node:timers/promises';
import type { Test } from 'tap';
import { randomText } from '../../src/names/ids.ts';
import type { AdmitQuestion, Coordination, StoredResponse } from '../../src/stores/coordination/port.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Short enough to wait for, where the clock is the server's. */
const SHORT_MS = 50;
const POLLS = 500;

export interface CoordinationHarness {
  /** One more way to the same store, as another process has it. */
  connect(): Promise<Coordination>;
  /** Moves the store's clock, where it can be moved; the tests poll for what the passing of time brings. */
  elapse(ms: number): void;
}

const response: StoredResponse = {
  status: 201,
  headers: { 'content-type': 'application/json; charset=utf-8' },
  body: '{ "data": {"name":"Grüße, 🙂\\n\\u0000"},\r\n "list": [] }',
};

/** The promises of coordination, for every implementation of it. */
export function coordinationContract(t: Test, open: (t: Test) => Promise<CoordinationHarness>): void {
  t.test('a rate window counts to its limit, refuses, and turns', async (t) => {
    const { store, elapse } = await opened(t, open);
    const rate = { key: randomText(8), limit: 2, windowMs: MINUTE_MS };
    const answers = [];
    for (let i = 0; i < 4; i++) answers.push((await store.admit({ rate })).rate);
    t.match(answers, [
      { allowed: true, remaining: 1 },
      { allowed: true, remaining: 0 },
      { allowed: false, remaining: 0 },
      { allowed: false, remaining: 0 },
    ]);
    t.ok(answers.every((one) => one !== null && one.resetMs > 0 && one.resetMs <= MINUTE_MS));

    const short = { ...rate, key: randomText(8), limit: 1, windowMs: SHORT_MS };
    t.equal((await store.admit({ rate: short })).rate?.allowed, true);
    elapse(SHORT_MS);
    t.ok(await until(async () => (await store.admit({ rate: short })).rate?.allowed), 'the window turned');
  });

  t.test('racing admissions of several processes never pass a limit', async (t) => {
    const { store, connect } = await opened(t, open);
    const stores = [store, await connect(), await connect()];
    const key = randomText(8);
    const answers = await Promise.all(
      Array.from({ length: 90 }, (_, i) =>
        pick(stores, i).admit({
          rate: { key, limit: 50, windowMs: MINUTE_MS },
          slot: { key, limit: 4, holder: `host/${i}/1`, leaseMs: MINUTE_MS },
        }),
      ),
    );
    t.equal(answers.filter(({ rate }) => rate?.allowed).length, 50);
    t.equal(answers.filter(({ slot }) => slot).length, 4);
    t.notOk(
      answers.some(({ slot, rate }) => slot && !rate?.allowed),
      'no place without admission',
    );
  });

  t.test('a place comes back by release, once', async (t) => {
    const { store } = await opened(t, open);
    const key = randomText(8);
    const take = takerOf(store, key, 1);
    t.equal(await take('a/1/1'), true);
    t.equal(await take('a/1/1'), true, 'asking again keeps the place');
    t.equal(await take('a/1/2'), false);
    await store.releaseSlot(key, 'a/1/2');
    t.equal(await take('a/1/2'), false, 'releasing what is not held frees nothing');
    await store.releaseSlot(key, 'a/1/1');
    await store.releaseSlot(key, 'a/1/1');
    t.equal(await take('a/1/2'), true);
    t.equal(await take('a/1/3'), false, 'releasing twice freed one place');
  });

  t.test('places that come back with a question are free for it, whatever it is answered', async (t) => {
    const { store } = await opened(t, open);
    const slot = { key: randomText(8), limit: 1, leaseMs: MINUTE_MS };
    const other = { ...slot, key: randomText(8) };
    await store.admit({ slot: { ...slot, holder: 'a/1/1' } });
    await store.admit({ slot: { ...other, holder: 'a/1/2' } });
    const returned = [
      { key: slot.key, holder: 'a/1/1' },
      { key: other.key, holder: 'a/1/2' },
    ];
    t.match(await store.admit({ returned, slot: { ...slot, holder: 'a/1/3' } }), { slot: true });
    t.equal(await takerOf(store, other.key, 1)('b/1/1'), true);

    const rate = { key: randomText(8), limit: 0, windowMs: MINUTE_MS };
    const refused = await store.admit({ returned: [{ key: slot.key, holder: 'a/1/3' }], rate });
    t.match(refused, { rate: { allowed: false } });
    t.equal(await takerOf(store, slot.key, 1)('b/1/2'), true);
  });

  t.test('a place comes back by itself when its lease ends, and cannot be renewed then', async (t) => {
    const { store, elapse } = await opened(t, open);
    const key = randomText(8);
    t.equal(await takerOf(store, key, 1, SHORT_MS)('dead/1/1'), true);
    elapse(SHORT_MS);
    t.ok(await until(() => takerOf(store, key, 1)('alive/1/1')));
    t.equal(await store.renewSlot(key, 'dead/1/1', MINUTE_MS), false);
    t.equal(await store.renewSlot(key, 'alive/1/1', MINUTE_MS), true);
    t.equal(await takerOf(store, key, 1)('dead/1/1'), false, 'the renewed place is held');
  });

  t.test('a long lease is not cut short by a later short one', async (t) => {
    const { store, elapse } = await opened(t, open);
    const key = randomText(8);
    t.equal(await takerOf(store, key, 2)('long/1/1'), true);
    t.equal(await takerOf(store, key, 2, SHORT_MS)('short/1/1'), true);
    elapse(SHORT_MS);
    t.ok(await until(() => takerOf(store, key, 2)('next/1/1')));
    t.equal(await takerOf(store, key, 2)('more/1/1'), false);
  });

  t.test('every place of a process that died comes back at once, and no other', async (t) => {
    const { store, connect } = await opened(t, open);
    const host = randomText(8);
    const keys = [randomText(8), randomText(8)];
    for (const key of keys) {
      await takerOf(store, key, 2)(`${host}/1/1`);
      await takerOf(store, key, 2)(`${host}/11/1`);
    }
    await (await connect()).releaseSlotsOf(`${host}/1/`);
    for (const key of keys) {
      t.equal(await takerOf(store, key, 2)(`${host}/2/1`), true);
      t.equal(await takerOf(store, key, 2)(`${host}/2/2`), false);
    }
  });

  t.test('a full window of failures refuses everything until it turns, and counts nothing', async (t) => {
    const { store, elapse } = await opened(t, open);
    const question = fullQuestion(2);
    t.equal((await store.strike(question.blocked.key, MINUTE_MS)).count, 1);
    t.match(await store.admit(question), { blockedMs: 0, rate: { remaining: 8 }, slot: true });
    const { count, resetMs } = await store.strike(question.blocked.key, MINUTE_MS);
    t.equal(count, 2);
    t.ok(resetMs > 0 && resetMs <= MINUTE_MS);
    const other = { ...question.slot, holder: 'a/1/2' };
    const refused = await store.admit({ ...question, slot: other });
    t.match(refused, { rate: null, slot: false });
    t.ok(refused.blockedMs > 0 && refused.blockedMs <= MINUTE_MS);
    const { blocked, ...rest } = question;
    t.match(await store.admit({ ...rest, slot: other }), { rate: { remaining: 7 }, slot: true });

    const key = randomText(8);
    await store.strike(key, SHORT_MS);
    elapse(SHORT_MS);
    t.ok(await until(async () => (await store.admit({ blocked: { key, limit: 1 } })).blockedMs === 0));
    t.equal((await store.strike(key, MINUTE_MS)).count, 1, 'a window begins anew');
    await store.strike(key, MINUTE_MS);
    await store.giveBackStrike(key);
    t.equal((await store.strike(key, MINUTE_MS)).count, 2, 'what is given back was never counted');
    for (let back = 0; back < 5; back += 1) await store.giveBackStrike(key);
    const again = await store.strike(key, 2 * MINUTE_MS);
    t.equal(again.count, 1, 'no more comes back than was counted');
    t.ok(again.resetMs <= MINUTE_MS, 'and the window turns when it would have');
    await t.resolves(store.giveBackStrike('never counted'));
    t.ok(blocked.limit);
  });

  t.test('a mark refuses everything while it stands, and counts nothing', async (t) => {
    const { store, connect, elapse } = await opened(t, open);
    const { rate, slot } = fullQuestion(1);
    const marked = randomText(8);
    t.match(await store.admit({ marked, rate, slot }), { marked: false, rate: { remaining: 8 }, slot: true });
    await (await connect()).mark(marked, MINUTE_MS);
    const again = { ...slot, holder: 'a/1/2' };
    t.match(await store.admit({ marked, rate, slot: again }), { marked: true, rate: null, slot: false });
    t.match(await store.admit({ rate, slot: again }), { marked: false, rate: { remaining: 7 }, slot: true });

    const passing = randomText(8);
    await store.mark(passing, SHORT_MS);
    elapse(SHORT_MS);
    t.ok(await until(async () => !(await store.admit({ marked: passing })).marked));
  });

  t.test('a request over the rate limit takes no place', async (t) => {
    const { store } = await opened(t, open);
    const { rate, slot } = fullQuestion(1);
    await store.admit({ rate: { ...rate, limit: 1 } });
    t.match(await store.admit({ rate: { ...rate, limit: 1 }, slot }), {
      rate: { allowed: false },
      slot: false,
    });
    t.equal(await takerOf(store, slot.key, 1)('b/1/1'), true);
    t.same(await store.admit({}), { blockedMs: 0, marked: false, rate: null, slot: true }, 'nothing asked');
  });

  t.test('of 100 equal requests one is new and the others see it run', async (t) => {
    const { store, connect } = await opened(t, open);
    const stores = [store, await connect()];
    const key = randomText(8);
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) => pick(stores, i).beginIdempotent(key, 'print', MINUTE_MS, DAY_MS)),
    );
    t.equal(answers.filter(({ state }) => state === 'new').length, 1);
    t.equal(answers.filter(({ state }) => state === 'running').length, 99);
  });

  t.test('a kept answer is replayed byte for byte, and its key means nothing else', async (t) => {
    const { store, connect } = await opened(t, open);
    const key = randomText(8);
    const token = await begun(store, key, 'print');
    t.same(await store.beginIdempotent(key, 'other', MINUTE_MS, DAY_MS), { state: 'reused' });
    await store.keepIdempotent(key, token, response);
    const other = await connect();
    t.same(await other.beginIdempotent(key, 'print', MINUTE_MS, DAY_MS), { state: 'replay', response });
    t.same(await other.beginIdempotent(key, 'other', MINUTE_MS, DAY_MS), { state: 'reused' });
    t.same(await other.beginIdempotent(key, null, MINUTE_MS, DAY_MS), { state: 'reused' });
  });

  t.test('an answer that could not be kept makes its key used up', async (t) => {
    const { store } = await opened(t, open);
    const key = randomText(8);
    await store.keepIdempotent(key, await begun(store, key, 'print'), null);
    t.same(await store.beginIdempotent(key, 'print', MINUTE_MS, DAY_MS), { state: 'reused' });
  });

  t.test('a body without a fingerprint is never replayed', async (t) => {
    const { store } = await opened(t, open);
    const key = randomText(8);
    const token = await begun(store, key, null);
    t.same(await store.beginIdempotent(key, null, MINUTE_MS, DAY_MS), { state: 'running' });
    await store.keepIdempotent(key, token, response);
    t.same(await store.beginIdempotent(key, null, MINUTE_MS, DAY_MS), { state: 'reused' });
  });

  t.test('a freed key is new again, and its former request has no say in it', async (t) => {
    const { store } = await opened(t, open);
    const key = randomText(8);
    const first = await begun(store, key, 'print');
    await store.forgetIdempotent(key, first);
    const second = await begun(store, key, 'other');
    await store.forgetIdempotent(key, first);
    await store.keepIdempotent(key, first, response);
    t.same(await store.beginIdempotent(key, 'other', MINUTE_MS, DAY_MS), { state: 'running' });
    await store.keepIdempotent(key, second, { ...response, body: 'second' });
    t.match(await store.beginIdempotent(key, 'other', MINUTE_MS, DAY_MS), { response: { body: 'second' } });
  });

  t.test('a request that never answers gives its key up in time, to one retry', async (t) => {
    const { store, elapse } = await opened(t, open);
    const key = randomText(8);
    t.match(await store.beginIdempotent(key, 'print', SHORT_MS, DAY_MS), { state: 'new' });
    elapse(SHORT_MS);
    const retried = async () =>
      (
        await Promise.all(
          Array.from({ length: 10 }, () => store.beginIdempotent(key, 'print', MINUTE_MS, DAY_MS)),
        )
      ).filter(({ state }) => state === 'new').length;
    t.equal(await until(retried), 1);
  });

  t.test('a kept answer ends with the life of its key', async (t) => {
    const { store, elapse } = await opened(t, open);
    const key = randomText(8);
    const answer = await store.beginIdempotent(key, 'print', SHORT_MS, SHORT_MS);
    if (answer.state === 'new') await store.keepIdempotent(key, answer.token, response);
    elapse(SHORT_MS);
    t.ok(
      await until(async () => {
        const { state } = await store.beginIdempotent(key, 'other', MINUTE_MS, DAY_MS);
        return state === 'new';
      }),
    );
  });

  t.test('a lease has one owner at a time', async (t) => {
    const { store, connect, elapse } = await opened(t, open);
    const other = await connect();
    const name = randomText(8);
    const takers = Array.from({ length: 10 }, (_, i) =>
      pick([store, other], i).lease(name, `o${i}`, MINUTE_MS),
    );
    const owner = (await Promise.all(takers)).indexOf(true);
    t.equal((await Promise.all(takers)).filter(Boolean).length, 1);
    t.equal(await other.lease(name, `o${owner}`, MINUTE_MS), true, 'its owner extends it');
    await other.endLease(name, 'somebody else');
    t.equal(await store.lease(name, 'next', SHORT_MS), false);
    await other.endLease(name, `o${owner}`);
    t.equal(await store.lease(name, 'next', SHORT_MS), true);
    elapse(SHORT_MS);
    t.ok(await until(() => other.lease(name, 'last', MINUTE_MS)), 'a lease ends by itself');
  });

  t.test('a member is claimed when it is due, by one process at a time, the longest due first', async (t) => {
    const { store, connect, elapse } = await opened(t, open);
    const other = await connect();
    const key = randomText(8);
    t.same(await store.claimDue(key, 10, MINUTE_MS, 'a/1/1'), { members: [], nextInMs: null });
    await store.schedule(key, [
      { member: 'second', afterMs: -1 },
      { member: 'first', afterMs: -2 },
      { member: 'later', afterMs: MINUTE_MS },
      { member: 'third', afterMs: 0 },
    ]);
    t.match(await store.claimDue(key, 2, MINUTE_MS, 'a/1/1'), { members: ['first', 'second'], nextInMs: 0 });
    const rest = await other.claimDue(key, 2, SHORT_MS, 'a/2/1');
    t.same(rest.members, ['third']);
    t.ok(rest.nextInMs !== null && rest.nextInMs <= SHORT_MS, 'its own claim ends next');
    elapse(SHORT_MS);
    const again = await until(async () => {
      const { members } = await store.claimDue(key, 2, MINUTE_MS, 'a/1/2');
      return members.length > 0 && members;
    });
    t.same(again, ['third'], 'a claim ends by itself');
  });

  t.test('racing processes claim each member once', async (t) => {
    const { store, connect } = await opened(t, open);
    const stores = [store, await connect(), await connect()];
    const key = randomText(8);
    await store.schedule(
      key,
      Array.from({ length: 100 }, (_, i) => ({ member: `m${i}`, afterMs: 0 })),
    );
    const claims = await Promise.all(
      Array.from({ length: 30 }, (_, i) => pick(stores, i).claimDue(key, 7, MINUTE_MS, `a/${i}/1`)),
    );
    const members = claims.flatMap((claim) => claim.members);
    t.equal(members.length, 100);
    t.equal(new Set(members).size, 100);
  });

  t.test(
    'the earlier of two instants counts, and what is asked for during a claim is not lost',
    async (t) => {
      const { store, connect } = await opened(t, open);
      const other = await connect();
      const key = randomText(8);
      const claim = async () => (await store.claimDue(key, 1, MINUTE_MS, 'a/1/1')).members;
      await store.schedule(key, [{ member: 'm', afterMs: MINUTE_MS }]);
      t.same(await claim(), []);
      await other.schedule(key, [{ member: 'm', afterMs: 0 }]);
      await other.schedule(key, [{ member: 'm', afterMs: MINUTE_MS }]);
      t.same(await claim(), ['m']);

      await other.schedule(key, [{ member: 'm', afterMs: 0 }]);
      t.same(await claim(), [], 'not while it is claimed');
      await store.settleDue(key, 'm', 'a/1/1', null);
      t.same(await claim(), ['m'], 'but at once when the claim is settled');
      await store.settleDue(key, 'm', 'a/1/1', MINUTE_MS);
      t.same(await claim(), []);
      await store.schedule(key, [{ member: 'm', afterMs: 0 }]);
      t.same(await claim(), ['m']);
      await store.settleDue(key, 'm', 'a/1/1', null);
      t.same(await store.claimDue(key, 1, MINUTE_MS, 'a/1/1'), { members: [], nextInMs: null });
    },
  );

  t.test('a claim is renewed and settled by its holder alone', async (t) => {
    const { store, connect, elapse } = await opened(t, open);
    const other = await connect();
    const key = randomText(8);
    await store.schedule(key, [{ member: 'm', afterMs: 0 }]);
    await store.claimDue(key, 1, SHORT_MS, 'dead/1/1');
    elapse(SHORT_MS);
    t.ok(
      await until(async () => (await other.claimDue(key, 1, MINUTE_MS, 'alive/1/1')).members.length === 1),
    );
    t.equal(await store.renewDue(key, 'm', 'dead/1/1', MINUTE_MS), false);
    await store.settleDue(key, 'm', 'dead/1/1', null);
    t.equal(await other.renewDue(key, 'm', 'alive/1/1', MINUTE_MS), true);
    t.same((await store.claimDue(key, 1, MINUTE_MS, 'dead/1/2')).members, []);
    t.equal(await store.settleDue(key, 'm', 'dead/1/1', 0), null);
    await other.settleDue(key, 'm', 'alive/1/1', null);
    t.same((await store.claimDue(key, 1, MINUTE_MS, 'dead/1/2')).members, ['m'], 'the late word was kept');
  });

  t.test('a claim is taken anew where the set was lost, with what was scheduled since', async (t) => {
    const { store } = await opened(t, open);
    const key = randomText(8);
    t.equal(await store.renewDue(key, 'm', 'a/1/1', MINUTE_MS), true);
    t.same((await store.claimDue(key, 1, MINUTE_MS, 'a/2/1')).members, []);
    await store.settleDue(key, 'm', 'a/1/1', null);

    await store.schedule(key, [{ member: 'm', afterMs: 0 }]);
    t.equal(await store.renewDue(key, 'm', 'a/1/1', MINUTE_MS), true);
    t.same((await store.claimDue(key, 1, MINUTE_MS, 'a/2/1')).members, []);
    await store.settleDue(key, 'm', 'a/1/1', MINUTE_MS);
    t.same((await store.claimDue(key, 1, MINUTE_MS, 'a/2/1')).members, ['m']);

    const lost = randomText(8);
    await store.schedule(lost, [{ member: 'm', afterMs: 0 }]);
    await store.settleDue(lost, 'm', 'a/1/1', MINUTE_MS);
    t.same((await store.claimDue(lost, 1, MINUTE_MS, 'a/2/1')).members, ['m']);
  });

  t.test('what a dead process has claimed is due at once, and nothing else', async (t) => {
    const { store, connect } = await opened(t, open);
    const key = randomText(8);
    await store.schedule(key, [{ member: 'm1', afterMs: -2 }]);
    await store.claimDue(key, 1, MINUTE_MS, 'host/1/1');
    await store.schedule(key, [{ member: 'm2', afterMs: -1 }]);
    await store.claimDue(key, 1, MINUTE_MS, 'host/11/1');
    await (await connect()).releaseDueOf(key, 'host/1/');
    t.same((await store.claimDue(key, 9, MINUTE_MS, 'host/2/1')).members, ['m1']);
  });

  t.test('a message reaches every listener of its channel, in every process, until it ends', async (t) => {
    const { store, connect } = await opened(t, open);
    const other = await connect();
    const channel = randomText(8);
    const heard: string[] = [];
    const endOfOne = await store.subscribe(channel, (message) => heard.push(`one ${message}`));
    await store.subscribe(channel, (message) => heard.push(`two ${message}`));
    await other.subscribe(channel, (message) => heard.push(`three ${message}`));
    await other.subscribe(randomText(8), (message) => heard.push(`elsewhere ${message}`));
    t.ok((await other.publish(channel, 'Grüße')) >= 1, 'and its sender hears to how many processes it went');
    t.ok(await until(async () => heard.length >= 3));
    t.same(heard.toSorted(), ['one Grüße', 'three Grüße', 'two Grüße']);

    endOfOne();
    endOfOne();
    heard.length = 0;
    await store.publish(channel, 'again');
    t.ok(await until(async () => heard.length >= 2));
    t.same(heard.toSorted(), ['three again', 'two again']);
  });

  t.test('it answers a ping', async (t) => {
    const { store } = await opened(t, open);
    await t.resolves(store.ping());
  });
}

/** Asks until the answer is truthy, for as long as a busy machine may take; answers the last answer. */
export async function until<T>(ask: () => Promise<T>): Promise<T> {
  for (let poll = 1; poll < POLLS; poll++) {
    const answer = await ask();
    if (answer) return answer;
    await pause(SHORT_MS / 5);
  }
  return ask();
}

/** Begins under a key that is free; answers the token. */
export async function begun(store: Coordination, key: string, fingerprint: string | null): Promise<string> {
  const answer = await store.beginIdempotent(key, fingerprint, MINUTE_MS, DAY_MS);
  if (answer.state !== 'new') throw new Error(`The key is ${answer.state}, where new is expected.`);
  return answer.token;
}

async function opened(t: Test, open: (t: Test) => Promise<CoordinationHarness>) {
  const harness = await open(t);
  return { ...harness, store: await harness.connect() };
}

function takerOf(store: Coordination, key: string, limit: number, leaseMs = MINUTE_MS) {
  return async (holder: string) => (await store.admit({ slot: { key, limit, holder, leaseMs } })).slot;
}

function fullQuestion(failures: number) {
  return {
    blocked: { key: randomText(8), limit: failures },
    rate: { key: randomText(8), limit: 9, windowMs: MINUTE_MS },
    slot: { key: randomText(8), limit: 4, holder: 'a/1/1', leaseMs: MINUTE_MS },
  } satisfies AdmitQuestion;
}

function pick(stores: readonly Coordination[], i: number): Coordination {
  const store = stores[i % stores.length];
  if (store === undefined) throw new Error('There is no store.');
  return store;
}

import { setTimeout as pause } from 'node:timers/promises';
import type { Test } from 'tap';
import { randomText } from '../../../../src/platform/ids/ids.ts';
import type { AdmissionRequest, Coordination } from '../../../../src/platform/stores/coordination/port.ts';
import { MINUTE_MS, type Open, opened, pick, SHORT_MS, takerOf, until } from './harness.ts';

/** What lets requests in: windows, flags and slots. */
export function admissionContract(t: Test, open: Open): void {
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

  t.test('requests are counted ahead, a thousandth of what is left at most', async (t) => {
    const { store, elapse } = await opened(t, open);
    const rate = { key: randomText(8), limit: 3_000, windowMs: MINUTE_MS };
    const ask = async (ahead: number) => (await store.admit({ rate: { ...rate, ahead } })).rate;
    t.match(await ask(0), { allowed: true, ahead: 0, remaining: 2_999 });
    t.match(await ask(100), { allowed: true, ahead: 2, remaining: 2_996 });
    t.match(await ask(1), { allowed: true, ahead: 1, remaining: 2_994 });
    t.match((await store.admit({ rate })).rate, { allowed: true, ahead: 0, remaining: 2_993 });
    const small = { ...rate, key: randomText(8), limit: 999, ahead: 100 };
    t.match((await store.admit({ rate: small })).rate, { allowed: true, ahead: 0, remaining: 998 });
    const full = { ...rate, key: randomText(8), limit: 0, ahead: 100 };
    t.match((await store.admit({ rate: full })).rate, { allowed: false, ahead: 0, remaining: 0 });

    const short = { ...rate, key: randomText(8), windowMs: SHORT_MS, ahead: 3 };
    t.match((await store.admit({ rate: short })).rate, { ahead: 3, remaining: 2_996 });
    elapse(SHORT_MS);
    t.ok(
      await until(
        async () => (await store.admit({ rate: { ...rate, key: short.key } })).rate?.remaining === 2_999,
      ),
      'the window turns though its first question counted several',
    );
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
      'no slot without admission',
    );
  });

  t.test('a slot comes back by release, once', async (t) => {
    const { store } = await opened(t, open);
    const key = randomText(8);
    const take = takerOf(store, key, 1);
    t.equal(await take('a/1/1'), true);
    t.equal(await take('a/1/1'), true, 'asking again keeps the slot');
    t.equal(await take('a/1/2'), false);
    await store.releaseSlot(key, 'a/1/2');
    t.equal(await take('a/1/2'), false, 'releasing what is not held frees nothing');
    await store.releaseSlot(key, 'a/1/1');
    await store.releaseSlot(key, 'a/1/1');
    t.equal(await take('a/1/2'), true);
    t.equal(await take('a/1/3'), false, 'releasing twice freed one slot');
  });

  t.test('slots that come back with a question are free for it, whatever it is answered', async (t) => {
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

  t.test('a slot comes back by itself when its lease ends, and cannot be renewed then', async (t) => {
    const { store, elapse } = await opened(t, open);
    const key = randomText(8);
    t.equal(await takerOf(store, key, 1, SHORT_MS)('dead/1/1'), true);
    elapse(SHORT_MS);
    t.ok(await until(() => takerOf(store, key, 1)('alive/1/1')));
    t.equal(await store.renewSlot(key, 'dead/1/1', MINUTE_MS), false);
    t.equal(await store.renewSlot(key, 'alive/1/1', MINUTE_MS), true);
    t.equal(await takerOf(store, key, 1)('dead/1/1'), false, 'the renewed slot is held');
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

  t.test('an owner gets all shared slots but one if it is alone, and half of them otherwise', async (t) => {
    const { store, connect, elapse } = await opened(t, open);
    const askerOf = sharersOf(randomText(8), 5);
    const [a, b, c] = [askerOf(store, 'a'), askerOf(await connect(), 'b'), askerOf(store, 'c')];
    t.equal(await a.takes(6), 4, 'alone');
    t.equal(await a.asksAgain(), true, 'asking again keeps a slot');
    t.equal(await b.takes(2), 1, 'the last one is left for who comes next');
    await a.givesBack();
    t.equal(await a.takes(1), 0, 'the free one is for who waits with fewer');
    t.equal(await b.takes(1), 1);
    await a.givesBack();
    t.equal(await c.takes(2), 1, 'the fewest first');
    await b.givesBack();
    t.equal(await a.takes(1), 0, 'c waits with one, a has two');
    t.equal(await c.takes(1), 1);

    const spared = sharersOf(randomText(8), 4);
    t.equal(await spared(store, 'b').takes(1), 1);
    t.equal(await spared(store, 'a').takes(3), 2, 'half, though one is free');
    t.equal(await spared(store, 'd').takes(1), 1, 'who is new finds it');

    const short = sharersOf(randomText(8), 4, SHORT_MS);
    t.same([await short(store, 'b').takes(1), await short(store, 'a').takes(3)], [1, 2]);
    elapse(SHORT_MS);
    t.ok(
      await until(async () => (await short(store, 'a').takes(4)) === 3),
      'all but one, when nobody else was seen any more',
    );
  });

  t.test('the one slot there is goes round', async (t) => {
    const { store, elapse } = await opened(t, open);
    const askerOf = sharersOf(randomText(8), 1);
    const owners = ['a', 'b', 'c'];
    const askers = owners.map((owner) => ({ owner, ...askerOf(store, owner) }));
    const served: string[] = [];
    for (let round = 0; round < 7; round += 1) {
      for (const { owner, takes } of askers) {
        if ((await takes(1)) === 1) served.push(owner);
        // Instants are whole milliseconds.
        elapse(1);
        await pause(2);
      }
      await askers.find(({ owner }) => owner === served.at(-1))?.givesBack();
    }
    t.equal(served.join(''), 'abcabca', 'though a asks first each time');
  });

  t.test('every slot of a process that died comes back at once, and no other', async (t) => {
    const { store, connect } = await opened(t, open);
    const host = randomText(8);
    const keys = [randomText(8), randomText(8)];
    for (const key of keys) {
      await takerOf(store, key, 2)(`${host}/1/1`);
      await takerOf(store, key, 2)(`${host}/11/1`);
    }
    await (await connect()).releaseSlotsByPrefix(`${host}/1/`);
    for (const key of keys) {
      t.equal(await takerOf(store, key, 2)(`${host}/2/1`), true);
      t.equal(await takerOf(store, key, 2)(`${host}/2/2`), false);
    }
  });

  t.test('a full window of failures refuses everything until it turns, and counts nothing', async (t) => {
    const { store, elapse } = await opened(t, open);
    const question = fullQuestion(2);
    t.equal((await store.addStrike(question.blocked.key, MINUTE_MS)).count, 1);
    t.match(await store.admit(question), { blockedMs: 0, rate: { remaining: 8 }, slot: true });
    const { count, resetMs } = await store.addStrike(question.blocked.key, MINUTE_MS);
    t.equal(count, 2);
    t.ok(resetMs > 0 && resetMs <= MINUTE_MS);
    const other = { ...question.slot, holder: 'a/1/2' };
    const refused = await store.admit({ ...question, slot: other });
    t.match(refused, { rate: null, slot: false });
    t.ok(refused.blockedMs > 0 && refused.blockedMs <= MINUTE_MS);
    const { blocked, ...rest } = question;
    t.match(await store.admit({ ...rest, slot: other }), { rate: { remaining: 7 }, slot: true });

    const key = randomText(8);
    await store.addStrike(key, SHORT_MS);
    elapse(SHORT_MS);
    t.ok(await until(async () => (await store.admit({ blocked: { key, limit: 1 } })).blockedMs === 0));
    t.equal((await store.addStrike(key, MINUTE_MS)).count, 1, 'a window begins again');
    await store.addStrike(key, MINUTE_MS);
    await store.withdrawStrike(key);
    t.equal((await store.addStrike(key, MINUTE_MS)).count, 2, 'what is given back was never counted');
    for (let back = 0; back < 5; back += 1) await store.withdrawStrike(key);
    const again = await store.addStrike(key, 2 * MINUTE_MS);
    t.equal(again.count, 1, 'no more comes back than was counted');
    t.ok(again.resetMs <= MINUTE_MS, 'and the window turns when it would have');
    await t.resolves(store.withdrawStrike('never counted'));
    t.ok(blocked.limit);
  });

  t.test('a flag refuses everything while it is set, and counts nothing', async (t) => {
    const { store, connect, elapse } = await opened(t, open);
    const { rate, slot } = fullQuestion(1);
    const flag = randomText(8);
    t.match(await store.admit({ flag, rate, slot }), {
      flagged: false,
      rate: { remaining: 8 },
      slot: true,
    });
    await (await connect()).setFlag(flag, MINUTE_MS);
    const again = { ...slot, holder: 'a/1/2' };
    t.match(await store.admit({ flag, rate, slot: again }), { flagged: true, rate: null, slot: false });
    t.match(await store.admit({ rate, slot: again }), {
      flagged: false,
      rate: { remaining: 7 },
      slot: true,
    });

    const passing = randomText(8);
    await store.setFlag(passing, SHORT_MS);
    elapse(SHORT_MS);
    t.ok(await until(async () => !(await store.admit({ flag: passing })).flagged));
  });

  t.test('a request over the rate limit takes no slot', async (t) => {
    const { store } = await opened(t, open);
    const { rate, slot } = fullQuestion(1);
    await store.admit({ rate: { ...rate, limit: 1 } });
    t.match(await store.admit({ rate: { ...rate, limit: 1 }, slot }), {
      rate: { allowed: false },
      slot: false,
    });
    t.equal(await takerOf(store, slot.key, 1)('b/1/1'), true);
    t.same(await store.admit({}), { blockedMs: 0, flagged: false, rate: null, slot: true }, 'nothing asked');
  });
}

function fullQuestion(failures: number) {
  return {
    blocked: { key: randomText(8), limit: failures },
    rate: { key: randomText(8), limit: 9, windowMs: MINUTE_MS },
    slot: { key: randomText(8), limit: 4, holder: 'a/1/1', leaseMs: MINUTE_MS },
  } satisfies AdmissionRequest;
}

/** Owners that share the slots under a key, as processes ask for them. */
function sharersOf(key: string, limit: number, seenMs = MINUTE_MS) {
  return (store: Coordination, owner: string) => {
    const held: string[] = [];
    let asked = 0;
    const ask = (holder: string) =>
      store.takeShared({ key, limit, holder, leaseMs: seenMs, seenMs, waitMs: seenMs });
    return {
      /** Asks a number of times; answers how many slots that brought. */
      async takes(times: number): Promise<number> {
        const before = held.length;
        for (let time = 0; time < times; time += 1) {
          asked += 1;
          const holder = `host/1/${asked}/${owner}`;
          if (await ask(holder)) held.push(holder);
        }
        return held.length - before;
      },
      asksAgain: () => ask(held[0] ?? ''),
      givesBack: () => store.releaseSlot(key, held.shift() ?? ''),
    };
  };
}

import type { Test } from 'tap';
import { randomText } from '../../../../src/platform/ids/ids.ts';
import { admissionContract } from './admission.contract.ts';
import { MINUTE_MS, type Open, opened, pick, SHORT_MS, until } from './harness.ts';
import { keysContract } from './keys.contract.ts';

/** The promises of coordination, for every implementation of it. */
export function coordinationContract(t: Test, open: Open): void {
  admissionContract(t, open);
  keysContract(t, open);

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
    t.same(
      (await store.claimDue(key, 1, MINUTE_MS, 'dead/1/2')).members,
      ['m'],
      'the later schedule was kept',
    );
  });

  t.test('a claim is taken again where the set was lost, with what was scheduled since', async (t) => {
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
    await (await connect()).releaseDueByPrefix(key, 'host/1/');
    t.same((await store.claimDue(key, 9, MINUTE_MS, 'host/2/1')).members, ['m1']);
  });

  t.test('a message reaches every listener of its channel, in every process, until it ends', async (t) => {
    const { store, connect } = await opened(t, open);
    const other = await connect();
    const channel = randomText(8);
    const received: string[] = [];
    const endOfOne = await store.subscribe(channel, (message) => received.push(`one ${message}`));
    await store.subscribe(channel, (message) => received.push(`two ${message}`));
    await other.subscribe(channel, (message) => received.push(`three ${message}`));
    await other.subscribe(randomText(8), (message) => received.push(`elsewhere ${message}`));
    t.ok(
      (await other.publish(channel, 'Grüße')) >= 1,
      'and its sender gets the number of processes that it reached',
    );
    t.ok(await until(async () => received.length >= 3));
    t.same(received.toSorted(), ['one Grüße', 'three Grüße', 'two Grüße']);

    endOfOne();
    endOfOne();
    received.length = 0;
    await store.publish(channel, 'again');
    t.ok(await until(async () => received.length >= 2));
    t.same(received.toSorted(), ['three again', 'two again']);
  });

  t.test('it answers a ping', async (t) => {
    const { store } = await opened(t, open);
    await t.resolves(store.ping());
  });
}

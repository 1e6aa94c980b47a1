// needs: nothing
import t from 'tap';
import { forever, open, settle } from './admission-harness.ts';

t.test('one account is served in the order of its calls', async (t) => {
  const { acquire, releaseFirst, names, admitted } = open();
  for (const name of ['a1', 'a2', 'a3']) void acquire(name, 'a');
  await settle();
  t.equal(names(), 'a1');
  await releaseFirst();
  t.equal(names(), 'a2');
  await releaseFirst();
  t.equal(names(), 'a3');
  admitted[0]?.slot.release();
});

t.test('accounts take turns, however many calls one of them has waiting', async (t) => {
  const { acquire, releaseFirst, admitted } = open();
  for (const name of ['a1', 'a2', 'a3', 'a4']) void acquire(name, 'a');
  void acquire('b1', 'b');
  void acquire('c1', 'c');
  void acquire('b2', 'b');
  const order: (string | undefined)[] = [];
  for (let served = 0; served < 7; served += 1) {
    await settle();
    order.push(admitted[0]?.name);
    await releaseFirst();
  }
  t.same(order, ['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
});

t.test('slots are shared up to the memory that there is', async (t) => {
  const { acquire, releaseFirst, names, admission } = open({ slots: 3 });
  void acquire('a', 'a', 60);
  void acquire('b', 'b', 60);
  void acquire('c', 'c', 10);
  await settle();
  t.equal(names(), 'a', 'b does not fit beside a, and c does not overtake b');
  await releaseFirst();
  t.equal(names(), 'b c');
  t.match(admission.stats(), { busy: 2, waiting: 0, reservedBytes: 70 });
});

t.test('what needs more than all the memory runs alone', async (t) => {
  const { acquire, releaseFirst, names } = open({ slots: 2 });
  void acquire('small', 'a', 1);
  void acquire('huge', 'b', 1_000);
  await settle();
  t.equal(names(), 'small');
  await releaseFirst();
  void acquire('next', 'c', 1);
  await settle();
  t.equal(names(), 'huge');
});

t.test('a full waiting room refuses with a computed Retry-After', async (t) => {
  const { acquire, admission, clock, admitted, releaseFirst } = open({ limits: { calls: 3 } });
  void acquire('first', 'a');
  await settle();
  clock.advance(30_000);
  await releaseFirst();
  for (const name of ['working', 'w1', 'w2', 'w3']) void acquire(name);
  await settle();
  const meanMs = admission.stats().meanServiceMs;
  t.ok(meanMs > 3_000, 'the mean follows what was seen');
  await t.rejects(acquire('too many'), {
    code: 'provider_unavailable',
    status: 503,
    details: { reason: 'capacity' },
    retryAfterSeconds: Math.ceil((4 * meanMs) / 1000),
  });
  t.equal(admitted.length, 1);
});

/** The names in the order in which they were served, one after the other. */
async function servedInTurn(
  { admitted, releaseFirst }: ReturnType<typeof open>,
  count: number,
): Promise<string> {
  const order: string[] = [];
  for (let served = 0; served < count; served += 1) {
    await settle();
    order.push(admitted[0]?.name ?? 'nobody');
    await releaseFirst();
  }
  return order.join(' ');
}

t.test('calls go before jobs, and a job has every fourth turn', async (t) => {
  const harness = open({ limits: { calls: 20 } });
  for (const name of ['j1', 'j2', 'j3']) void harness.acquire(name, 'batch', 0, forever, 'job');
  for (let call = 1; call <= 7; call += 1) void harness.acquire(`c${call}`, 'a');
  t.equal(await servedInTurn(harness, 10), 'j1 c1 c2 c3 j2 c4 c5 c6 j3 c7');
});

t.test('a call works beside jobs, and never beside more calls than there are slots', async (t) => {
  const { acquire, names, releaseFirst, admission } = open({ callsBesideJobs: true });
  for (const name of ['j1', 'j2']) void acquire(name, 'batch', 0, forever, 'job');
  for (const name of ['c1', 'c2']) void acquire(name, 'a');
  await settle();
  t.equal(names(), 'j1 c1');
  t.match(admission.stats(), { slots: 1, busy: 2, waiting: 1, jobsWaiting: 1 });
  await releaseFirst();
  t.equal(names(), 'c1', 'a job takes no slot that a call has');
  await releaseFirst();
  t.equal(names(), 'c2', 'calls go before jobs');
  await releaseFirst();
  t.equal(names(), 'j2');
});

t.test('a batch has its turn though calls never end, and they work on beside it', async (t) => {
  const harness = open({ limits: { calls: 20 }, callsBesideJobs: true });
  for (const name of ['j1', 'j2', 'j3']) void harness.acquire(name, 'batch', 0, forever, 'job');
  for (let call = 1; call <= 12; call += 1) void harness.acquire(`c${call}`, 'a');
  const ended: string[] = [];
  for (const work of 'c c j c c c c c j c c c c c c j'.split(' ')) {
    await settle();
    const at = harness.admitted.findIndex(({ name }) => name.startsWith(work));
    const [next] = harness.admitted.splice(at, at === -1 ? 0 : 1);
    ended.push(next?.name ?? 'nobody');
    next?.slot.release();
  }
  t.equal(ended.join(' '), 'c1 c2 j1 c3 c4 c5 c6 c7 j2 c8 c9 c10 c11 c12 nobody j3');
});

t.test('what works beside a job has to fit into the memory that there is', async (t) => {
  const { acquire, names, releaseFirst } = open({ callsBesideJobs: true });
  void acquire('job', 'batch', 60, forever, 'job');
  void acquire('call', 'a', 60);
  await settle();
  t.equal(names(), 'job');
  await releaseFirst();
  t.equal(names(), 'call');
});

t.test('jobs of several accounts take turns among themselves', async (t) => {
  const harness = open();
  for (const name of ['a1', 'a2', 'a3']) void harness.acquire(name, 'a', 0, forever, 'job');
  for (const name of ['b1', 'b2']) void harness.acquire(name, 'b', 0, forever, 'job');
  t.equal(await servedInTurn(harness, 5), 'a1 a2 b1 a3 b2');
});

t.test('jobs wait without limit, and take no room from calls', async (t) => {
  const { acquire, admission } = open({ limits: { calls: 1 } });
  void acquire('working');
  for (let job = 0; job < 50; job += 1) void acquire(`j${job}`, 'batch', 0, forever, 'job');
  await settle();
  const secondsForCalls = admission.retryAfterSeconds();
  void acquire('call', 'c');
  await settle();
  t.match(admission.stats(), { waiting: 1, jobsWaiting: 50 });
  t.equal(secondsForCalls, 1, 'a Retry-After counts no jobs');
  await t.rejects(acquire('one too many', 'd'), {
    code: 'provider_unavailable',
    details: { reason: 'capacity' },
  });
});

t.test('a call goes before a job that waits for memory', async (t) => {
  const { acquire, names } = open({ slots: 2 });
  void acquire('working', 'a', 60);
  void acquire('large job', 'b', 60, forever, 'job');
  void acquire('call', 'c', 10);
  await settle();
  t.equal(names(), 'working call');
});

t.test('an account has a second slot only while nobody else waits', async (t) => {
  const { acquire, admitted, names } = open({ slots: 2 });
  for (const name of ['a1', 'a2', 'a3']) void acquire(name, 'a');
  await settle();
  t.equal(names(), 'a1 a2');
  void acquire('b1', 'b');
  await settle();
  admitted.shift()?.slot.release();
  await settle();
  t.equal(names(), 'a2 b1', 'a3 came first, but a has a slot');
});

t.test('who leaves the waiting room is told why and holds nobody up', async (t) => {
  const { acquire, releaseFirst, names, admission } = open();
  const gone = new AbortController();
  void acquire('working', 'a');
  const waiting = acquire('gone', 'b', 0, gone.signal);
  void acquire('patient', 'c');
  await settle();
  gone.abort(new Error('went away'));
  await t.rejects(waiting, { message: 'went away' });
  t.equal(admission.stats().waiting, 1);
  await releaseFirst();
  t.equal(names(), 'patient');
});

t.test('who has left already gets no slot', async (t) => {
  const { acquire, admission } = open();
  await t.rejects(acquire('gone', 'a', 0, AbortSignal.abort(new Error('went away'))), {
    message: 'went away',
  });
  t.match(admission.stats(), { busy: 0, waiting: 0 });
});

t.test('a departure lets those behind it in when it was what did not fit', async (t) => {
  const { acquire, names } = open({ slots: 2 });
  const gone = new AbortController();
  void acquire('a', 'a', 50);
  const large = acquire('large', 'b', 90, gone.signal);
  void acquire('c', 'c', 10);
  await settle();
  t.equal(names(), 'a');
  gone.abort(new Error('went away'));
  await t.rejects(large);
  await settle();
  t.equal(names(), 'a c');
});

t.test('a slot given back twice is given back once; waiting is measured; idle tells the end', async (t) => {
  const { acquire, releaseFirst, admitted, admission, clock } = open();
  void acquire('a');
  void acquire('b');
  await settle();
  clock.advance(250);
  const first = admitted[0]?.slot;
  await releaseFirst();
  first?.release();
  t.equal(admission.stats().busy, 1);
  t.equal(admitted[0]?.slot.queueMs, 250);
  const idle = admission.whenIdle();
  await releaseFirst();
  await idle;
  t.match(admission.stats(), { busy: 0, waiting: 0, reservedBytes: 0 });
});

t.test('the bodies of calls that wait are bounded by their bytes', async (t) => {
  const { acquire, admission } = open({ limits: { heldBytes: 100 } });
  void acquire('at work', 'a');
  const held = (name: string, heldBytes: number) =>
    admission.acquire({ accountId: name, bytes: 0, heldBytes, signal: forever });
  void held('b', 500);
  await t.rejects(held('c', 1), { code: 'provider_unavailable' }, 'one may wait, however large it is');
  void acquire('d', 'd');
  await settle();
  t.equal(admission.stats().waiting, 2, 'a call without a body keeps nothing');
});

t.test('an account never holds more than its share of the slots', async (t) => {
  const { acquire, releaseFirst, names } = open({ slots: 3, slotsPerAccount: 2 });
  for (const name of ['a1', 'a2', 'a3', 'a4']) void acquire(name, 'a');
  await settle();
  t.equal(names(), 'a1 a2', 'although a slot is free');
  void acquire('b1', 'b');
  await settle();
  t.equal(names(), 'a1 a2 b1', 'and another account need not wait for it');
  void acquire('b2', 'b');
  await releaseFirst();
  t.equal(names(), 'a2 b1 a3');
  await releaseFirst();
  t.equal(names(), 'b1 a3 b2');
});

t.test('in a full queue, the account with the most waiting calls makes room for others', async (t) => {
  const { acquire, admission, admitted, limits } = open({ limits: { calls: 3, heldBytes: 100 } });
  const refused: string[] = [];
  const wait = (name: string, accountId: string, heldBytes = 0) =>
    admission
      .acquire({ accountId, bytes: 0, heldBytes, signal: forever })
      .catch(({ status }) => refused.push(`${name} ${status}`));
  void acquire('at work', 'a');
  for (const name of ['a1', 'a2', 'a3']) void wait(name, 'a');
  await t.rejects(acquire('a4', 'a'), { code: 'provider_unavailable' });
  const incoming = admission.admitIncoming({ accountId: 'b' });
  await settle();
  t.same(refused, [], 'room is made when the body has arrived');
  incoming.end();
  void wait('b1', 'b');
  await settle();
  t.same(refused, ['a3 503']);
  void wait('c1', 'c');
  await settle();
  t.same(refused, ['a3 503', 'a2 503']);
  await t.rejects(acquire('d1', 'd'), { code: 'provider_unavailable' }, 'each of the others has one call');
  t.throws(() => admission.admitIncoming({ accountId: 'd' }), { code: 'provider_unavailable' });
  limits.calls = 10;
  for (const name of ['e1', 'e2', 'e3']) void wait(name, 'e', 33);
  void wait('f1', 'f', 50);
  await settle();
  t.same(refused.slice(2), ['e2 503', 'e3 503'], 'the same for the bytes of bodies');
  t.equal(admitted.length, 1);
});

t.test('the call that is next in line may read its input before its turn', async (t) => {
  const { admission, acquire, releaseFirst } = open();
  void acquire('at work', 'a');
  const prepared: string[] = [];
  const wait = (name: string) =>
    admission.acquire({ accountId: 'a', bytes: 0, signal: forever, prepare: () => prepared.push(name) });
  const first = wait('first');
  void wait('second');
  await settle();
  t.same([...new Set(prepared)], ['first']);
  await releaseFirst();
  await first;
  t.same([...new Set(prepared)], ['first', 'second']);
});

t.test('limits are in force for the next call, also while calls wait', async (t) => {
  const { acquire, admission, clock, limits } = open({ slots: 1, limits: { calls: 1 } });
  for (const name of ['working', 'waiting']) void acquire(name);
  await settle();
  const refusal = { code: 'provider_unavailable' };
  await t.rejects(acquire('too many'), refusal);
  limits.calls = 3;
  void acquire('second');
  await settle();
  t.equal(admission.stats().waiting, 2);
  clock.advance(1_001);
  limits.waitMs = 100;
  await t.rejects(acquire('too late'), refusal, 'a bound of the wait');
  limits.waitMs = 60_000;
  void acquire('third');
  await settle();
  t.equal(admission.stats().waiting, 3);
});

t.test('an account that gives way gets only slots that no other account waits for', async (t) => {
  const { acquire, releaseFirst, names } = open({ mustYield: (accountId) => accountId === 'greedy' });
  void acquire('at work', 'a');
  for (const name of ['g1', 'g2']) void acquire(name, 'greedy');
  for (const name of ['a1', 'a2']) void acquire(name, 'a');
  void acquire('item', 'b', 0, forever, 'job');
  await settle();
  const served: string[] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    await releaseFirst();
    served.push(names());
  }
  t.same(served, ['a1', 'a2', 'item', 'g1', 'g2'], 'jobs of others go before it, too');
});

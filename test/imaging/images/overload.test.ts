// needs: nothing
import t from 'tap';
import type { AdmissionQueue } from '../../../src/imaging/images/admission.ts';
import { SpacedCallTimes } from '../../../src/imaging/images/spaced-times.ts';
import type { ApiError } from '../../../src/platform/http/errors/errors.ts';
import { manualClock } from '../../support/clock.ts';
import { forever, open, settle } from './admission-harness.ts';

t.test('a burst is served whole, however long it waits', async (t) => {
  const { acquire, clock, releaseFirst, names } = open({ limits: { waitMs: 700, calls: 50 } });
  for (const name of ['at work', 'w1', 'w2', 'w3']) void acquire(name, 'a');
  await settle();
  clock.advance(5_000);
  for (let served = 0; served < 3; served += 1) await releaseFirst();
  t.equal(names(), 'w3', 'the last of those that waited');
});

t.test('an overload refuses calls that would wait longer than the limit', async (t) => {
  const { acquire, admission, clock, releaseFirst, names } = open({ limits: { waitMs: 700, calls: 50 } });
  for (const name of ['at work', 'w1']) void acquire(name, 'a');
  const burst = ['w2', 'w3'].map((name) => acquire(name, 'a'));
  await settle();
  t.equal(admission.stats().waiting, 3, 'a burst may wait for longer than the limit');
  clock.advance(1_001);
  const refused = burst.map((late) => t.rejects(late, { code: 'provider_unavailable' }));
  await t.rejects(
    acquire('too late', 'a'),
    { code: 'provider_unavailable', retryAfterSeconds: 2 },
    'calls have waited for a second without a break; two that were refused may come before it',
  );
  await Promise.all(refused);
  t.equal(admission.stats().waiting, 1, 'the next call of the account stays');
  void acquire('other', 'b');
  await settle();
  t.equal(admission.stats().waiting, 2, 'another account waits for its turn alone');
  for (let served = 0; served < 2; served += 1) await releaseFirst();
  t.equal(names(), 'other');
  t.doesNotThrow(() => admission.admitIncoming({ accountId: 'a' }), 'nobody waits: the overload is over');
});

t.test(
  'accounts that wait go on to take their turns: a call expects as many of each as its own',
  async (t) => {
    const { acquire, admission, clock } = open({ limits: { waitMs: 1_000, calls: 50 } });
    for (const name of ['at work', 'a1', 'a2']) void acquire(name, 'a').catch(() => undefined);
    for (const name of ['b', 'c']) void acquire(name);
    await settle();
    clock.advance(1_001);
    // A turn takes 200 ms. Of three accounts, the third turn of a is nine turns away and the second of b six;
    // the first of a fourth account is four away.
    const refused = (accountId: string) => {
      try {
        admission.admitIncoming({ accountId }).end();
        return false;
      } catch {
        return true;
      }
    };
    t.same(['a', 'b', 'd'].map(refused), [true, true, false]);
  },
);

t.test('in an overload, a call whose body is under way counts as one that waits', async (t) => {
  const { acquire, admission, clock } = open({ limits: { waitMs: 650 } });
  for (const name of ['at work', 'waits']) void acquire(name, 'a');
  await settle();
  t.doesNotThrow(
    () => Array.from({ length: 20 }, () => admission.admitIncoming({ accountId: 'b' })),
    'before it',
  );
  clock.advance(1_001);
  // Two accounts with a turn of 200 ms each.
  const first = admission.admitIncoming({ accountId: 'b' });
  t.throws(
    () => admission.admitIncoming({ accountId: 'b' }),
    { message: /full/ },
    'its second turn is four turns away',
  );
  first.end();
  first.end();
  const second = admission.admitIncoming({ accountId: 'b' });
  void admission.acquire({ accountId: 'b', bytes: 0, signal: forever, incoming: second });
  await settle();
  t.equal(admission.stats().waiting, 2);
  t.throws(() => admission.admitIncoming({ accountId: 'b' }), 'it waits, and is counted once');
  const third = admission.admitIncoming({ accountId: 'c' });
  await t.rejects(acquire('d'), { code: 'provider_unavailable' }, 'a fourth account');
  clock.advance(1_000);
  void acquire('d');
  await settle();
  t.equal(admission.stats().waiting, 3);
  const late = admission.acquire({ accountId: 'c', bytes: 0, signal: forever, incoming: third });
  await t.rejects(late, { code: 'provider_unavailable' }, 'a body that took longer keeps no place');
});

t.test('the time of a waiting call begins with its body, and ends with its work', async (t) => {
  const { acquire, admission, clock } = open({ limits: { waitMs: 500, calls: 50 } });
  void acquire('at work', 'a');
  clock.advance(100);
  void acquire('b1', 'b');
  clock.advance(200);
  const incoming = admission.admitIncoming({ accountId: 'b' });
  clock.advance(850);
  const second = admission.acquire({ accountId: 'b', bytes: 0, signal: forever, incoming });
  await settle();
  t.equal(admission.stats().waiting, 2, 'two turns of 200 ms are within the limit');
  const refused = t.rejects(
    second,
    { code: 'provider_unavailable' },
    'in all it would take a second and more',
  );
  t.throws(() => admission.admitIncoming({ accountId: 'b' }), { code: 'provider_unavailable' });
  await refused;
  t.equal(admission.stats().waiting, 1);
});

t.test('however many bodies are under way, the queue takes as many calls as it may', async (t) => {
  const { acquire, admission } = open({ limits: { calls: 1 } });
  void acquire('at work', 'a');
  await settle();
  const [first, second] = ['b', 'c'].map((accountId) => admission.admitIncoming({ accountId }));
  void admission.acquire({ accountId: 'b', bytes: 0, signal: forever, incoming: first });
  await settle();
  const late = admission.acquire({ accountId: 'c', bytes: 0, signal: forever, incoming: second });
  await t.rejects(late, { code: 'provider_unavailable' });
});

t.test('a call that left ends the overload as one that was served does', async (t) => {
  const { acquire, admission, clock } = open({ limits: { waitMs: 100 } });
  const client = new AbortController();
  void acquire('at work', 'a');
  const waiting = acquire('waits', 'a', 0, client.signal);
  await settle();
  clock.advance(2_000);
  t.throws(() => admission.admitIncoming({ accountId: 'a' }));
  client.abort(new Error('gone'));
  await t.rejects(waiting, { message: 'gone' });
  t.doesNotThrow(() => admission.admitIncoming({ accountId: 'a' }));
});

t.test('where one piece of work takes longer than the limit, one call may wait for it', async (t) => {
  const { acquire, admission, clock, releaseFirst } = open({ limits: { waitMs: 100 } });
  void acquire('slow', 'a');
  await settle();
  clock.advance(60_000);
  await releaseFirst();
  void acquire('at work', 'a');
  void acquire('waits', 'b');
  await settle();
  clock.advance(2_000);
  t.throws(() => admission.admitIncoming({ accountId: 'b' }), 'it has one that waits already');
  t.throws(() => admission.admitIncoming({ accountId: 'c' }), 'the next turn is taken');
  t.equal(admission.stats().waiting, 1);
});

/** Seconds after which a call that is refused now may come again; null if it is let in. */
function sentAwayFor(admission: AdmissionQueue, accountId: string): number | null {
  try {
    admission.admitIncoming({ accountId }).end();
    return null;
  } catch (error) {
    return (error as ApiError).retryAfterSeconds ?? null;
  }
}

t.test('calls that an overload refuses are told to come back one after the other, by account', async (t) => {
  const { acquire, admission, clock } = open({ limits: { waitMs: 500, calls: 50 } });
  for (const name of ['at work', 'a1', 'a2']) void acquire(name, 'a').catch(() => undefined);
  void acquire('b1', 'b');
  await settle();
  clock.advance(1_001);
  // Two accounts take turns of 200 ms: 400 ms lie between two calls of one account.
  const seconds = (accountId: string) => Array.from({ length: 6 }, () => sentAwayFor(admission, accountId));
  t.same(seconds('b'), [1, 2, 2, 2, 3, 3]);
  t.same(seconds('a'), [1, 2, 2, 3, 3, 3], 'a2, which was refused as well, may come before them');
  clock.advance(60_000);
  t.equal(sentAwayFor(admission, 'b'), 1, 'all of them have come');
});

t.test('times of one account lie apart, and none is later than the limit', async (t) => {
  const clock = manualClock();
  const times = new SpacedCallTimes(clock, 10_000);
  const wait = { waitMs: 3_000, spaceMs: 2_000 };
  const told = () => times.nextDelayMs('a', wait);
  t.same(Array.from({ length: 6 }, told), [3_000, 5_000, 7_000, 9_000, 10_000, 10_000]);
  t.equal(times.nextDelayMs('b', wait), 3_000);
  clock.advance(9_000);
  t.equal(told(), 3_000, 'the last one comes in a second');
});

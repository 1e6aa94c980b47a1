// needs: nothing
import t from 'tap';
import { retryUntilLeaseEnds } from '../../../src/platform/stores/outages.ts';

/** The pauses alone keep no process alive. */
const alive = setInterval(() => {}, 1_000);
t.teardown(() => clearInterval(alive));

t.test('what could not be given back is given back as soon as the store is there again', async (t) => {
  let tries = 0;
  await retryUntilLeaseEnds(async () => {
    tries += 1;
    if (tries < 3) throw new Error('away');
  }, 60_000);
  t.equal(tries, 3);
});

t.test('it is left to its lease when that is over', async (t) => {
  let tries = 0;
  const never = retryUntilLeaseEnds(async () => {
    tries += 1;
    throw new Error('away');
  }, 100);
  await t.rejects(never, { message: 'away' });
  t.equal(tries, 1);
});

// needs: nothing
import t from 'tap';
import { SLOW_ACCOUNT_TTL_MS, SlowAccounts } from '../../../src/imaging/renders/renders.ts';
import { manualClock } from '../../support/clock.ts';

t.test('an account is slow for a minute from its last mark, and no other is', async (t) => {
  const clock = manualClock();
  const slow = new SlowAccounts(clock);
  slow.markSlow('acc_a');
  clock.advance(SLOW_ACCOUNT_TTL_MS - 1);
  t.ok(slow.has('acc_a'));
  t.notOk(slow.has('acc_b'));
  slow.markSlow('acc_a');
  clock.advance(SLOW_ACCOUNT_TTL_MS - 1);
  t.ok(slow.has('acc_a'), 'a second mark begins the minute again');
  clock.advance(1);
  t.notOk(slow.has('acc_a'));
});

// needs: nothing
import t from 'tap';
import { createSlowAccounts, SLOW_FOR_MS } from '../../src/pixels/renders/slow-accounts.ts';

t.test('an account is slow for a minute from its last mark, and no other is', async (t) => {
  const slow = createSlowAccounts();
  slow.mark('acc_a', 1_000);
  t.ok(slow.has('acc_a', 1_000 + SLOW_FOR_MS - 1));
  t.notOk(slow.has('acc_b', 1_000));
  slow.mark('acc_a', 31_000);
  t.ok(slow.has('acc_a', 1_000 + SLOW_FOR_MS), 'a second mark begins the minute anew');
  t.notOk(slow.has('acc_a', 31_000 + SLOW_FOR_MS));
});

// needs: nothing
import t from 'tap';
import { findPlan, readPlans } from '../../src/product/billing/plans.ts';

t.test('the plans that come with the service', (t) => {
  t.strictSame(
    readPlans().map((plan) => Object.values(plan)),
    [
      ['free', 500, 1, 1000, 7],
      ['pro', 10_000, 1, 50_000, 30],
      ['scale', -1, null, 1_000_000, 90],
    ],
  );
  t.equal(findPlan(readPlans(), 'pro')?.retentionDays, 30);
  t.equal(findPlan(readPlans(), 'gold'), undefined);
  t.end();
});

t.test('plans that make no sense are refused at start', (t) => {
  const plan = { id: 'one', processLimit: 5, overageCredits: 1, storedAssets: 5, retentionDays: 5 };
  t.throws(() => readPlans([]), /config\/plans\.json must NOT have fewer than 1 items/);
  t.throws(() => readPlans([plan, plan]), /names the plan one twice/);
  t.throws(() => readPlans([{ ...plan, overageCredits: null }]), /no overageCredits/);
  t.throws(
    () => readPlans([{ ...plan, storedAssets: -1, retentionDays: 0 }]),
    /storedAssets.*\n.*retentionDays/,
  );
  t.doesNotThrow(() => readPlans([{ ...plan, processLimit: -1, overageCredits: null }]));
  t.end();
});

// needs: nothing
import t from 'tap';
import { UsualDrawingTime } from '../../../src/imaging/renders/pool.ts';

t.test('the usual time is the median of the accounts, each of which counts once', async (t) => {
  const usual = new UsualDrawingTime();
  t.equal(usual.medianMs(), 0);
  usual.record('acc_a', 40);
  t.equal(usual.medianMs(), 40);
  for (let page = 0; page < 100; page += 1) usual.record('acc_slow', 4_000);
  t.equal(usual.medianMs(), 40, 'of two the quicker one');
  usual.record('acc_b', 60);
  t.equal(usual.medianMs(), 60);
  usual.record('acc_a', 80);
  t.equal(usual.medianMs(), 80, 'the last page of an account stands for it');
});

t.test('only the 64 accounts that drew last are remembered', async (t) => {
  const usual = new UsualDrawingTime();
  for (let account = 0; account < 40; account += 1) usual.record(`acc_${account}`, 10);
  for (let account = 40; account < 104; account += 1) usual.record(`acc_${account}`, 90);
  t.equal(usual.medianMs(), 90);
});

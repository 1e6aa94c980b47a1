// needs: nothing
import { join } from 'node:path';
import t from 'tap';
import { readPressureSeconds, readStolenSeconds } from '../../../src/platform/metrics/proc.ts';

t.test('stolen CPU is the mean of the cores of /proc/stat', async (t) => {
  const folder = t.testdir({
    stat: 'cpu  100 1 50 900 5 0 3 400 0 0\ncpu0 50 0 25 450 2 0 1 300 0 0\ncpu1 50 1 25 450 3 0 2 100 0 0\nintr 5\n',
    old: 'cpu  100 1 50 900\ncpu0 100 1 50 900\n',
  });
  t.equal(readStolenSeconds(join(folder, 'stat')), 2);
  t.equal(readStolenSeconds(join(folder, 'old')), null, 'a kernel that does not count it');
  t.equal(readStolenSeconds(join(folder, 'absent')), null);
});

t.test('pressure is the time in which some task waited for a core', async (t) => {
  const folder = t.testdir({
    cpu: 'some avg10=20.36 avg60=33.67 avg300=19.59 total=92611202\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n',
  });
  t.equal(readPressureSeconds(join(folder, 'cpu')), 92.611202);
  t.equal(readPressureSeconds(join(folder, 'absent')), null);
});

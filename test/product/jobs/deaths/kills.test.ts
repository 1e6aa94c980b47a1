// needs: service
import t from 'tap';
import { killRoundAlone } from '../../../chaos/kills/round.ts';

t.test('kill -9 of a process, and of the whole service, loses nothing and doubles nothing', async (t) => {
  if (process.env.TEST_STORES === 'cluster') return;
  t.same(await killRoundAlone({ seed: 1, faults: ['process', 'host'], isCalm: true }), []);
});

// needs: pixels
import t from 'tap';
import { fuzz, targets } from './fuzz.ts';

/** All of them together take some seconds; `npm run fuzz` goes on for longer. */
const MILLISECONDS_EACH = 700;

for (const target of await targets()) {
  t.test(
    `no broken file leads the walker of ${target.name} out of its bytes, or keeps it busy`,
    async (t) => {
      const seed = Math.floor(Math.random() * 2 ** 31);
      const { runs, find } = fuzz(target, MILLISECONDS_EACH, seed);
      t.equal(find, undefined);
      t.ok(runs > 0, `${runs} files, seed ${seed}`);
    },
  );
}

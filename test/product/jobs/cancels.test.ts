// needs: documents
import t from 'tap';
import { cancelRound } from '../../chaos/cancels.ts';
import { closeStores } from '../../chaos/stores.ts';

t.teardown(closeStores);

const ROUNDS = 20;

t.test('a cancel at any moment stops what was not handed out, and nothing else', async (t) => {
  const seeds = Array.from({ length: ROUNDS }, (_, index) => index + 1);
  for (const seed of seeds) t.same(await cancelRound(seed), [], `seed ${seed}`);
});

// needs: documents, both stores
import t from 'tap';
import { checkStates } from '../../chaos/states.ts';
import { closeStores } from '../../chaos/stores.ts';

t.teardown(closeStores);

/** On a machine that is busy, fewer sequences are tried. */
const MAX_MS = 25_000;
const { STATE_RUNS = '6', STATE_SEED, TEST_STORES, MONGODB_URL } = process.env;

t.test('random sequences of calls, outcomes, deaths and time follow the state tables', async (t) => {
  await t.resolves(
    checkStates({
      runs: Number(STATE_RUNS),
      seed: STATE_SEED === undefined ? undefined : Number(STATE_SEED),
      limitMs: MAX_MS,
      mongodbUrl: TEST_STORES === 'cluster' ? MONGODB_URL : undefined,
    }),
  );
});

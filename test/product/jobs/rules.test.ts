// needs: nothing
import t from 'tap';
import { workerUnreachableError } from '../../../src/imaging/images/failures.ts';
import { ApiError } from '../../../src/platform/http/errors/errors.ts';
import {
  isUncountedTry,
  itemRetryDelayMs,
  itemWorkFailureOf,
  storeOutageDelayMs,
} from '../../../src/product/jobs/rules.ts';

t.test('a lost worker is no try of its item, until the item may be the cause', (t) => {
  const lost = itemWorkFailureOf(workerUnreachableError(new Error('the thread ended')));
  t.equal(isUncountedTry(lost, {}), true, 'the first time');
  for (const waits of [0, 1, 2]) t.equal(isUncountedTry(lost, { waits }), true, `${waits} times before`);
  t.equal(isUncountedTry(lost, { waits: 3 }), false, 'then it is a try');
  t.equal(itemRetryDelayMs(lost, 2), null, 'of which the third is the last');
  const busy = itemWorkFailureOf(
    new ApiError('provider_unavailable', 'x', { details: { reason: 'capacity' } }),
  );
  t.equal(isUncountedTry(busy, {}), false, 'every other failure is a try');
  t.same(
    [0, 1, 2].map((waits) => storeOutageDelayMs({ waits })),
    [1_000, 2_000, 4_000],
  );
  t.end();
});

// needs: nothing
import t from 'tap';
import { workerUnreachableError } from '../../../src/imaging/images/failures.ts';
import { ApiError } from '../../../src/platform/http/errors/errors.ts';
import { itemRetryOf, itemWorkFailureOf } from '../../../src/product/jobs/rules.ts';

t.test('a lost worker is no try of its item, until the item may be the cause', (t) => {
  const lost = itemWorkFailureOf(workerUnreachableError(new Error('the thread ended')));
  const counterOf = (failure: typeof lost, before: { tries: number; waits?: number }) =>
    itemRetryOf({ failure }, before)?.counter;
  t.equal(counterOf(lost, { tries: 0 }), 'waits', 'the first time');
  for (const waits of [0, 1, 2])
    t.equal(counterOf(lost, { tries: 2, waits }), 'waits', `${waits} times before`);
  t.equal(counterOf(lost, { tries: 0, waits: 3 }), 'tries', 'then it is a try');
  t.equal(itemRetryOf({ failure: lost }, { tries: 2, waits: 3 }), null, 'of which the third is the last');
  const busy = itemWorkFailureOf(
    new ApiError('provider_unavailable', 'x', { details: { reason: 'capacity' } }),
  );
  t.equal(counterOf(busy, { tries: 0 }), 'tries', 'every other failure is a try');
  t.same(
    [0, 1, 2].map((waits) => itemRetryOf({ outage: new Error('away') }, { tries: 0, waits })?.pauseMs),
    [1_000, 2_000, 4_000],
  );
  t.end();
});

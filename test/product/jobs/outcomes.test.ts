// needs: nothing
import t from 'tap';
import { jobEventOf } from '../../../src/product/jobs/engine/announcements.ts';
import type { JobDocument } from '../../../src/product/jobs/job.ts';
import { outcomeOf } from '../../../src/product/jobs/rules.ts';

t.test(
  'the outcome of a job says whether all, some or none of its items completed, once it ended',
  async (t) => {
    const of = (status: JobDocument['status'], completedItems: number) =>
      outcomeOf({ status, totalItems: 3, completedItems });
    t.equal(of('COMPLETED', 3), 'all');
    t.equal(of('FAILED', 2), 'some');
    t.equal(of('FAILED', 0), 'none');
    t.equal(of('CANCELLED', 1), 'some');
    t.equal(of('CANCELLED', 0), 'none');
    for (const status of ['PENDING', 'PROCESSING', 'CANCELLING'] as const) t.equal(of(status, 1), undefined);
  },
);

t.test('the event of a job carries its outcome', async (t) => {
  const job = { status: 'FAILED', totalItems: 2, completedItems: 1, errorCode: null } as JobDocument;
  t.match(jobEventOf(job, 'evt_1').data, { status: 'FAILED', outcome: 'some' });
});

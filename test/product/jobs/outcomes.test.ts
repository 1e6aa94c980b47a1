// needs: nothing
import t from 'tap';
import { jobEventOf } from '../../../src/product/jobs/engine/job-end.ts';
import type { EndedJob, JobDocument } from '../../../src/product/jobs/job.ts';
import { jobOutcomeOf } from '../../../src/product/jobs/rules.ts';

t.test(
  'the outcome of a job says whether all, some or none of its items completed, once it ended',
  async (t) => {
    const of = (phase: JobDocument['phase'], completedItems: number) =>
      jobOutcomeOf({ phase, totalItems: 3, completedItems } as JobDocument);
    for (const phase of ['ended', 'done', 'leaving'] as const) {
      t.equal(of(phase, 3), 'all');
      t.equal(of(phase, 2), 'some');
      t.equal(of(phase, 0), 'none');
    }
    t.equal(of('open', 1), undefined);
  },
);

t.test('the event of a job carries its outcome', async (t) => {
  const job = { phase: 'ended', status: 'FAILED', totalItems: 2, completedItems: 1 } as EndedJob;
  t.match(jobEventOf(job, 'evt_1').data, { status: 'FAILED', outcome: 'some' });
});

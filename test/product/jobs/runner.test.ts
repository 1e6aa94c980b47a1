// needs: nothing
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import type { JobsContext } from '../../../src/product/jobs/context.ts';
import { JobMetrics } from '../../../src/product/jobs/engine/metrics.ts';
import { JobRunner } from '../../../src/product/jobs/engine/runner.ts';
import { JobSweeps } from '../../../src/product/jobs/engine/sweeps.ts';
import type { ClaimedItem, JobDocument } from '../../../src/product/jobs/job.ts';
import { manualClock } from '../../support/clock.ts';

type RunnerOptions = ConstructorParameters<typeof JobRunner>[1];

const NOW = new Date('2026-03-04T05:06:07.890Z');
const FINISH_MS = 8_000;
const GIVE_BACK_MS = 2_000;
const JOB = {
  ...{ _id: 'job_1', accountId: 'acc_1', type: 'process', totalItems: 2 },
  ...{ phase: 'open', status: 'PROCESSING' },
} as JobDocument;
const ITEM = { _id: 'job_1/0', jobId: 'job_1', index: 0, epoch: 1 } as ClaimedItem;

/** A runner over items that are as the test says; work on them never ends. */
function runnerOver(items: {
  claim: () => Promise<ClaimedItem[] | null>;
  giveBack?: () => Promise<boolean>;
}) {
  const clock = manualClock();
  const warnings: unknown[] = [];
  const width = () => 1;
  const context = {
    items,
    owner: 'host/one',
    concurrency: { pixels: width, batches: width, pages: width, models: width },
    maxClaimedItems: () => 1_000,
    draining: new AbortController().signal,
    now: () => NOW,
    log: { warn: (_data: unknown, message: string) => void warnings.push(message) },
  } as unknown as JobsContext;
  const runner = new JobRunner(context, {
    perform: () => new Promise(() => undefined),
    metrics: new JobMetrics({ jobs: context.jobs, itemsAtWork: () => ({}) }),
    clock,
  } as unknown as RunnerOptions);
  return { runner, clock, warnings };
}

t.test('a wake-up that comes while a claim is under way has the job claimed from again', async (t) => {
  const claims: Array<(claimed: ClaimedItem[] | null) => void> = [];
  const { runner } = runnerOver({ claim: () => new Promise((resolve) => claims.push(resolve)) });
  runner.start(JOB);
  t.equal(claims.length, 1);
  // An item is made ready just after the store has answered that there is none.
  runner.wake(JOB._id);
  await turn();
  claims[0]?.(null);
  await turn();
  t.equal(claims.length, 2, 'the answer from before the wake-up is not the last word');
  claims[1]?.(null);
  await turn();
  t.equal(claims.length, 2, 'and without another wake-up, the claims end');
  await runner.stop();
});

t.test('a store that is silent while items are given back holds a stopping process for 2 s', async (t) => {
  let claimed = false;
  const { runner, clock } = runnerOver({
    async claim() {
      if (claimed) return null;
      claimed = true;
      return [ITEM];
    },
    giveBack: () => new Promise(() => undefined),
  });
  runner.start(JOB);
  await turn();
  let isStopped = false;
  const stopping = runner.stop().then(() => {
    isStopped = true;
  });
  clock.advance(FINISH_MS);
  await turn();
  clock.advance(GIVE_BACK_MS - 1);
  await turn();
  t.notOk(isStopped);
  clock.advance(1);
  await stopping;
});

t.test('an item that cannot be given back is left for its lease, and the process stops', async (t) => {
  let claimed = false;
  const { runner, clock, warnings } = runnerOver({
    async claim() {
      if (claimed) return null;
      claimed = true;
      return [ITEM];
    },
    giveBack: () => Promise.reject(new Error('The store is away.')),
  });
  runner.start(JOB);
  await turn();
  const stopping = runner.stop();
  clock.advance(FINISH_MS);
  await stopping;
  t.same(warnings, ['An item was not given back; its lease runs out']);
});

t.test('a sweep answers what it changed: rows that cannot move do not make it repeat', async (t) => {
  const decided = { ...ITEM, queue: 'decided', outcome: { status: 'COMPLETED' } };
  const job = { ...JOB, phase: 'ended' } as JobDocument;
  const context = {
    coordination: { publish: async () => 0 },
    items: {
      findExpiredLeases: async () => [{ ...ITEM, deaths: 0, lapses: 0 }],
      giveBack: async () => false,
      promote: async () => ({ promoted: 0, jobIds: ['job_1'] }),
      findDecidedBefore: async () => [decided],
    },
    jobs: {
      get: async () => null,
      findPossiblyComplete: async () => [JOB],
      findInPhaseSince: async () => [job],
      findExpired: async () => [job],
      move: async () => null,
    },
  } as unknown as JobsContext;
  const { tasks } = new JobSweeps(context, {
    outcomes: { record: async () => null },
    completion: { completeIfOver: async (asItIs: JobDocument) => asItIs, cleanUp: async () => false },
    metrics: { countExpiredLease: () => undefined },
  } as unknown as ConstructorParameters<typeof JobSweeps>[1]);
  const names = ['leases of items', 'retries of items', 'settlements of items', 'ended jobs'];
  for (const { name, sweep } of tasks.filter((task) => names.includes(task.name))) {
    t.equal(await sweep(NOW), 0, name);
  }
});

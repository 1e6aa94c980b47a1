// needs: documents
import t from 'tap';
import type { AssetsForJobs } from '../../../src/product/assets/open.ts';
import type { Perform } from '../../../src/product/jobs/item-work.ts';
import type { Claimed, JobDocument } from '../../../src/product/jobs/job.ts';
import { createPerform, type PerformOptions } from '../../../src/product/jobs/work/perform.ts';
import { brokenPromises, ended, jobsOf, recover } from '../../chaos/invariants.ts';
import { orderOf, performing, scripted, type Work } from '../../chaos/script.ts';
import { closeStores } from '../../chaos/stores.ts';
import { openWorld, type World } from '../../chaos/world.ts';

t.teardown(closeStores);

const GRANTED = 40;

/** What the work on items saw of their jobs: as it was begun, and as it was told that the job is shown, or is not. */
function watching({ now }: World) {
  const seen: Array<{ begun: string; shown: string; isAborted: boolean }> = [];
  const work: Work = (tools) => {
    const phaseOf = async (job: JobDocument) => (await tools.jobs.get(job._id))?.phase ?? 'unknown';
    const perform = scripted(performing(now))(tools);
    return async (item, job, signal, shown) => {
      const sight = { begun: await phaseOf(job), shown: 'waited for', isAborted: false };
      seen.push(sight);
      await Promise.resolve(shown).then(
        async () => {
          sight.shown = await phaseOf(job);
        },
        () => {
          sight.shown = 'never';
          sight.isAborted = signal.aborted;
        },
      );
      return perform(item, job, signal, shown);
    };
  };
  return { seen, work };
}

t.test('the only item of a job is worked on beside the writes that accept it', async (t) => {
  const world = await openWorld();
  const caller = await world.account(GRANTED);
  const { seen, work } = watching(world);
  const host = await world.start(null, work);
  await host.lifecycle.submit(caller, orderOf(['done']));
  await ended(world);
  t.match(seen, [{ begun: /unknown|hidden/, shown: /open|ended|done/ }]);
  await recover(world, host);
  t.same(await brokenPromises(world, caller, GRANTED), []);
  await world.close();
});

t.test('work for an account that cannot pay is not begun', async (t) => {
  const world = await openWorld();
  const caller = await world.account(0);
  const { seen, work } = watching(world);
  const host = await world.start(null, work);
  const order = orderOf(['done']);
  await t.rejects(host.lifecycle.submit(caller, { ...order, need: { runs: 1, credits: 5 } }), {
    code: 'insufficient_credit',
  });
  t.same(seen, []);
  await world.close();
});

t.test('work that was begun for a job that has to wait is told so', async (t) => {
  const world = await openWorld();
  const caller = await world.account(GRANTED);
  const { seen, work } = watching(world);
  const host = await world.start(null, work);
  // Two jobs keep their places and nothing to do: their items are put off.
  for (let jobs = 0; jobs < 2; jobs += 1) await host.lifecycle.submit(caller, orderOf(['twice']));
  while (seen.length < 2) await new Promise(setImmediate);
  const before = seen.length;
  const { job } = await host.lifecycle.submit(caller, orderOf(['done']));
  t.equal(job.status, 'PENDING');
  t.match(seen[before], { begun: /unknown|hidden/, shown: 'never', isAborted: true });
  await recover(world, host);
  t.ok((await jobsOf(world)).every(({ status }) => status === 'COMPLETED'));
  t.same(await brokenPromises(world, caller, GRANTED), []);
  await world.close();
});

/** The real walk over a pass that answers at once; every effect is noted. */
function walk() {
  const effects: string[] = [];
  const definition = {
    takes: 'assets',
    variants: [{ segments: [{ runs: 'pass', index: 0 }], credits: [0] }],
  };
  const perform: Perform = createPerform({
    definitions: { of: async () => definition },
    assets: {
      read: async () => ({ bytes: new Uint8Array(1) }),
      outputs: {
        async make() {
          effects.push('stored');
          return { _id: 'ast_1' };
        },
      },
    } as unknown as AssetsForJobs,
    async runPass() {
      effects.push('worked');
      return { kind: 'image', bytes: new Uint8Array(1), contentType: 'image/png' };
    },
    now: () => new Date(0),
    log: { warn: () => undefined },
  } as unknown as PerformOptions);
  const item = {
    _id: 'job_1/0',
    index: 0,
    variant: 0,
    assetId: 'ast_0',
    startedAt: new Date(0).toISOString(),
  };
  const work = (shown: Promise<unknown>) =>
    perform(item as Claimed, { _id: 'job_1' } as JobDocument, new AbortController().signal, shown);
  return { effects, work };
}

t.test('an output is stored when the job is shown, and not before', async (t) => {
  const { effects, work } = walk();
  const shown = Promise.withResolvers<void>();
  const result = work(shown.promise);
  while (effects.length === 0) await new Promise(setImmediate);
  await new Promise(setImmediate);
  t.same(effects, ['worked']);
  shown.resolve();
  t.match(await result, { outcome: { status: 'COMPLETED', resultAssetId: 'ast_1' } });
  t.same(effects, ['worked', 'stored']);
});

t.test('no output is stored for a job that is not shown', async (t) => {
  const { effects, work } = walk();
  const { failure } = (await work(Promise.reject(new Error('There is no job.')))) as { failure?: object };
  t.ok(failure);
  t.same(effects, ['worked']);
});

// needs: documents
import t from 'tap';
import { chainRound, MOMENTS, orderOf, PRESETS, walking } from '../../chaos/chains.ts';
import { ended, itemsOf, jobsOf } from '../../chaos/invariants.ts';
import { closeStores } from '../../chaos/stores.ts';
import { openWorld } from '../../chaos/world.ts';
import { segmentsOf } from './chain-runs.ts';

t.teardown(closeStores);

const ITEMS = 3;
const DAY_MS = 86_400_000;

for (const [preset, segments] of Object.entries(PRESETS)) {
  for (const segment of segments.keys()) {
    t.test(`${preset}: a death in segment ${segment} costs nobody twice, and loses nothing`, async (t) => {
      const deaths = MOMENTS.map((moment) => ({ segment, moment, item: 1 }));
      const broken = await Promise.all(
        deaths.map((death) => chainRound({ segments, items: ITEMS, deaths: [death] })),
      );
      t.same(
        broken,
        MOMENTS.map(() => []),
        MOMENTS.join(', '),
      );
    });

    t.test(`${preset}: items that die twice in segment ${segment} pay for those they finished`, async (t) => {
      const death = { segment, moment: 'kept', item: 1 } as const;
      t.same(await chainRound({ segments, items: ITEMS, deaths: [death, death] }), []);
    });
  }
}

t.test(
  'what a resume took over outlives the attempt that made it, and nothing outlives the last one',
  async (t) => {
    const world = await openWorld();
    const caller = await world.account(100);
    const segments = segmentsOf([
      { body: { op: 'resize' }, credits: 0, rejects: [] },
      { body: { op: 'edit' }, credits: 12, rejects: [0] },
    ]);
    const { lifecycle } = await world.start(null, walking(world, segments));
    const between = () => world.objects.listOlder('between/', Number.POSITIVE_INFINITY, 10);
    const sweep = async () => {
      for (const { sweep } of lifecycle.sweeps) while ((await sweep(world.now())) > 0);
    };
    const { job: first } = await lifecycle.submit(caller, orderOf(segments, 1));
    await ended(world);
    world.elapse(6 * DAY_MS);
    const { job: second } = await lifecycle.resuming.resume(caller, first._id, { key: null });
    await ended(world);
    t.equal((await between()).length, 1, 'both stand on what the first segment made');
    world.elapse(2 * DAY_MS);
    await sweep();
    t.same(
      (await jobsOf(world)).map(({ _id }) => _id),
      [second._id],
    );
    t.equal((await between()).length, 1, 'the attempt that is left can still be resumed');
    await lifecycle.resuming.resume(caller, second._id, { key: null });
    await ended(world);
    t.same(
      (await itemsOf(world)).map(({ outcome }) => outcome?.errorCode),
      ['provider_rejected', 'provider_rejected'],
    );
    world.elapse(8 * DAY_MS);
    await sweep();
    t.same([await jobsOf(world), await between()], [[], []]);
    await world.close();
  },
);

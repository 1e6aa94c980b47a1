// needs: server, waits
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { type ItemDocument, itemId } from '../../../src/product/jobs/job.ts';
import { openTestStores, startServer } from '../../support/harness.ts';
import { until } from '../../support/whole-service.ts';
import { ended, submit } from './jobs.ts';

const systemNow = () => new Date();
const SLOW = { op: 'generate', model: 'sandbox-image', prompt: '[sandbox:wait=3000]' };
/** One more than the claims that an item may lose. */
const SWEEPS = 6;

const directory = await mkdtemp(join(tmpdir(), 'darkroom-clocks-'));
const stores = await openTestStores(directory, systemNow);
t.teardown(async () => {
  await stores.close();
  await rm(directory, { recursive: true, force: true });
});
const right = await startServer(t, { stores, hostId: 'right' });
const items = stores.documents.collection<ItemDocument>({ name: 'jobItems', indexes: [] });

for (const apartSeconds of [-90, -45, 45, 90])
  t.test(
    `a host whose clock is ${apartSeconds} s off loses no item, and takes none from others`,
    async (t) => {
      const wrong = await startServer(t, {
        ...{ stores, hostId: 'wrong' },
        now: () => new Date(Date.now() + apartSeconds * 1_000),
      });
      const submitted = [right, wrong].flatMap((host) =>
        Array.from({ length: 3 }, async () => {
          const account = await host.account({ credits: 100 });
          const { json } = await submit(host, account.key, SLOW);
          return { host, account, id: String(json.data.id) };
        }),
      );
      const jobs = await Promise.all(submitted);
      const documents = () => items.find({ _id: { $in: jobs.map(({ id }) => itemId(id, 0)) } });
      await until(async () => {
        const claimed = (await documents()).filter(({ queue }) => queue === 'claimed');
        return new Set(claimed.map(({ owner }) => owner?.split('/')[0])).size === 2;
      });
      // The first one takes the duties: the host to whose clock the leases of the other would be over.
      const sweepers = apartSeconds < 0 ? [right, wrong] : [wrong, right];
      for (let sweep = 0; sweep < SWEEPS; sweep += 1) for (const host of sweepers) await host.sweep();
      for (const { host, account, id } of jobs)
        t.match(await ended(host, account.key, id), { status: 'COMPLETED' });
      t.same(
        (await documents()).map(({ epoch, deaths, lapses = 0 }) => ({ epoch, deaths, lapses })),
        jobs.map(() => ({ epoch: 1, deaths: 0, lapses: 0 })),
        'each was claimed once',
      );

      const ready = await wrong.call('//readyz');
      t.ok(Math.abs(ready.json.clockDifferenceMs + apartSeconds * 1_000) < 1_000, 'the difference is told');
      t.match(ready.json.remarks.join(), /clock of this host/);
      t.match(wrong.logged(), /"level":50.*The clock of this host is wrong/);
      t.notMatch(right.logged(), /The clock of this host is wrong/);
    },
  );

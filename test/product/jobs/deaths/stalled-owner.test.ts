// needs: documents
import t from 'tap';
import type { JobsContext } from '../../../../src/product/jobs/context.ts';
import type { DecidedItem } from '../../../../src/product/jobs/engine/outcomes.ts';
import { JobSweeps } from '../../../../src/product/jobs/engine/sweeps.ts';
import { ItemsStore } from '../../../../src/product/jobs/items-store.ts';
import type { ChainProgress, ItemDocument } from '../../../../src/product/jobs/job.ts';
import { borrowStore, closeStores } from '../../../chaos/stores.ts';

const AT = new Date('2026-03-04T05:06:07.890Z');
const AFTER_FIRST: ChainProgress = { segment: 1, objectKey: 'between/one', runs: 0, credits: 12 };

/**
 * Claimed for the fifth time, each time past its lease, by a process that stands still since before its lease ran out.
 */
const STALLED: ItemDocument = {
  ...{ _id: 'job_1/0', jobId: 'job_1', accountId: 'acc_1', index: 0, assetId: null, variant: 0 },
  ...{ status: 'PROCESSING', queue: 'claimed', epoch: 5, tries: 0, deaths: 0, lapses: 4 },
  ...{ owner: 'host/one', claim: 'one', startedAt: AT.toISOString() },
  leaseUntil: new Date(AT.getTime() - 1).toISOString(),
};

t.test('a segment that ends while its item is given up is billed', async (t) => {
  const documents = await borrowStore();
  const stored = new ItemsStore(documents, () => AT);
  await stored.insert([STALLED]);
  const bills: number[] = [];
  let wakes = true;
  const items = {
    async findExpiredLeases(limit: number) {
      const found = await stored.findExpiredLeases(limit);
      // The owner goes on between what the sweep reads and what it writes.
      if (wakes) t.ok(await stored.recordProgress(STALLED, AFTER_FIRST));
      wakes = false;
      return found;
    },
    decide: (...words: Parameters<ItemsStore['decide']>) => stored.decide(...words),
  };
  const [leases] = new JobSweeps(
    { items } as unknown as JobsContext,
    {
      outcomes: {
        async record(_jobId: string, batch: readonly DecidedItem[]) {
          for (const { outcome } of batch) bills.push(outcome.credits);
          return null;
        },
      },
      metrics: { countExpiredLease: () => undefined },
    } as unknown as ConstructorParameters<typeof JobSweeps>[1],
  ).tasks;
  await leases?.sweep(AT);
  t.same(bills, [], 'what was read is not what stands there');
  await leases?.sweep(AT);
  t.same(bills, [12]);
  await documents.giveBack();
  await closeStores();
});

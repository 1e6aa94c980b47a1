import { eachLimit } from '../../platform/fairness/each-limit.ts';
import { randomText } from '../../platform/names/ids.ts';
import type { Objects } from '../../platform/stores/objects/port.ts';
import type { ItemsStore } from './items-store.ts';
import type { JobDocument } from './job.ts';
import type { JobsStore } from './store.ts';

/** More than a job has items: what processes that died left of its objects is found too. */
const MOST_OBJECTS = 50_000;
const DELETED_AT_ONCE = 16;

const prefixOf = (jobId: string) => `between/${jobId}.`;

/** A key for what a segment makes for the next one. It names the job, so that no object outlives it unseen. */
export function newIntermediateKey(jobId: string): string {
  return `${prefixOf(jobId)}${randomText(16)}`;
}

/** Removes what segments of a job made for the next ones. Doing it twice is doing it once. */
export function createIntermediatesRemoval({
  jobs,
  items,
  objects,
}: {
  jobs: JobsStore;
  items: ItemsStore;
  objects: Objects;
}) {
  /**
   * Before the items of the job are erased, for they say what it took over from the attempt before. What the attempt
   * behind it took over stays, and so does what the one before it may still be resumed from.
   */
  return async ({ _id, accountId, type, parentJobId }: JobDocument): Promise<void> => {
    if (type !== 'chain') return;
    const [child, parent] = await Promise.all([
      jobs.findChild(accountId, _id),
      parentJobId === undefined ? null : jobs.get(parentJobId),
    ]);
    const own = await objects.listOlder(prefixOf(_id), Number.POSITIVE_INFINITY, MOST_OBJECTS);
    const inherited = parent === null ? await items.inheritedBy(_id) : [];
    const needed = new Set(child === null ? [] : await items.inheritedBy(child._id));
    const unneeded = new Set([...own, ...inherited]).difference(needed);
    await eachLimit(unneeded, DELETED_AT_ONCE, (key) => objects.delete(key));
  };
}

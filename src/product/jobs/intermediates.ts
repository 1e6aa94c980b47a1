import { randomText } from '../../platform/ids/ids.ts';
import { forEachWithLimit } from '../../platform/queues.ts';
import type { JobsContext } from './context.ts';
import type { JobDocument } from './job.ts';

/**
 * The maximum number of objects that are removed with a job. It exceeds the maximum number of items, because dead
 * processes may have left more objects.
 */
const MAX_REMOVED_OBJECTS = 50_000;
const MAX_CONCURRENT_DELETIONS = 16;
/** The number of finished items that one query reads. */
const ITEMS_PER_READ = 100;

const intermediateKeyPrefix = (jobId: string) => `between/${jobId}.`;

/**
 * A new object key for the result of a segment. It contains the job id, so that the object can be found when the job is
 * removed.
 */
export function newIntermediateKey(jobId: string): string {
  return `${intermediateKeyPrefix(jobId)}${randomText(16)}`;
}

/** Deletes intermediate results of finished items, which no later segment needs. */
export async function deleteUnneededIntermediates(
  { items, objects }: Pick<JobsContext, 'items' | 'objects'>,
  jobId: string,
): Promise<void> {
  for (;;) {
    const finished = await items.findFinishedWithObject(jobId, ITEMS_PER_READ);
    if (finished.length === 0) return;
    await Promise.all(finished.map(({ progress }) => objects.delete(progress?.objectKey ?? '')));
    await items.clearObjectKeys(finished.map(({ _id }) => _id));
  }
}

/**
 * Removes the intermediate results of a job; a repetition does no harm. The items of the job must still exist, because
 * they contain the keys of objects that were inherited from the previous attempt. An object stays if the next attempt
 * has inherited it, or if the previous attempt can still be resumed from it.
 */
export async function removeIntermediates(
  { jobs, items, objects }: Pick<JobsContext, 'jobs' | 'items' | 'objects'>,
  { _id, accountId, type, parentJobId }: JobDocument,
): Promise<void> {
  if (type !== 'chain') return;
  const [child, parent] = await Promise.all([
    jobs.findChild(accountId, _id),
    parentJobId === undefined ? null : jobs.get(parentJobId),
  ]);
  const prefix = intermediateKeyPrefix(_id);
  const own = await objects.listOlder(prefix, Number.POSITIVE_INFINITY, MAX_REMOVED_OBJECTS);
  const inherited = parent === null ? await items.findInheritedKeys(_id) : [];
  const needed = new Set(child === null ? [] : await items.findInheritedKeys(child._id));
  const unneeded = new Set([...own, ...inherited]).difference(needed);
  await forEachWithLimit(unneeded, MAX_CONCURRENT_DELETIONS, (key) => objects.delete(key));
}

import { randomText } from '../../platform/ids/ids.ts';
import { eachLimit } from '../../platform/queues/each-limit.ts';
import type { JobsContext } from './context.ts';
import type { JobDocument } from './job.ts';

/** Above the limit of items, to include objects that dead processes left. */
const MAX_OBJECTS = 50_000;
const DELETED_AT_ONCE = 16;

const prefixOf = (jobId: string) => `between/${jobId}.`;

/** The key of the result of a segment. It contains the job id, so that no object outlives its job unseen. */
export function newIntermediateKey(jobId: string): string {
  return `${prefixOf(jobId)}${randomText(16)}`;
}

/**
 * Removes the intermediate results of a job. It may run twice. It must run before the items of the job are erased,
 * because they name the objects inherited from the previous attempt. Objects that the next attempt inherited stay, as
 * do those from which the previous attempt can still be resumed.
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
  const own = await objects.listOlder(prefixOf(_id), Number.POSITIVE_INFINITY, MAX_OBJECTS);
  const inherited = parent === null ? await items.inheritedBy(_id) : [];
  const needed = new Set(child === null ? [] : await items.inheritedBy(child._id));
  const unneeded = new Set([...own, ...inherited]).difference(needed);
  await eachLimit(unneeded, DELETED_AT_ONCE, (key) => objects.delete(key));
}

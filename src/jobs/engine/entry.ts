import type { JobDocument } from '../job.ts';
import type { Turn } from './fair-turns.ts';
import { type Prefetch, type WorkKind, workKindOf } from './prefetch.ts';

/** A job that a process takes items of. */
export interface Entry extends Turn {
  job: JobDocument;
  prefetch: Prefetch;
  inHand: number;
  /** A claim is under way. */
  isClaiming: boolean;
  /** The last claim found nothing. */
  isDry: boolean;
  /** The job is being cancelled. */
  isLeft: boolean;
}

export function entryOf(job: JobDocument, prefetches: Record<WorkKind, Prefetch>): Entry {
  const { _id: jobId, accountId } = job;
  const prefetch = prefetches[workKindOf(job)];
  return { jobId, accountId, job, prefetch, inHand: 0, isClaiming: false, isDry: false, isLeft: false };
}

/** How many more items of it there is room for. */
export function roomOf({ prefetch, inHand }: Entry): number {
  return Math.min(prefetch.free, prefetch.limitOfJob - inHand);
}

/** Whether more items of it are to be claimed now: as many together as the prefetch claims. */
export function canTake(entry: Entry): boolean {
  const { prefetch, isClaiming, isDry, isLeft } = entry;
  if (isDry || isLeft || isClaiming || !prefetch.isOpen(performance.now())) return false;
  return roomOf(entry) >= prefetch.batch;
}

/** Whether nothing of it is here, and nothing is to come unless somebody says so. */
export function isSpent({ inHand, isClaiming, isDry, isLeft }: Entry): boolean {
  return (isDry || isLeft) && inHand === 0 && !isClaiming;
}

import type { JobDocument } from '../job.ts';
import { type Lane, type LaneName, laneOf } from './lanes.ts';
import type { Turn } from './turns.ts';

/** A job that a process takes items of. */
export interface Entry extends Turn {
  job: JobDocument;
  lane: Lane;
  inHand: number;
  /** A claim is under way. */
  isClaiming: boolean;
  /** The last claim found nothing. */
  isDry: boolean;
  /** The job is being cancelled. */
  isLeft: boolean;
}

export function entryOf(job: JobDocument, lanes: Record<LaneName, Lane>): Entry {
  const { _id: jobId, accountId } = job;
  const lane = lanes[laneOf(job)];
  return { jobId, accountId, job, lane, inHand: 0, isClaiming: false, isDry: false, isLeft: false };
}

/** Whether more items of it may be claimed now. */
export function canTake({ lane, inHand, isClaiming, isDry, isLeft }: Entry): boolean {
  return !isDry && !isLeft && !isClaiming && lane.free > 0 && inHand < lane.limitOfJob;
}

/** Whether nothing of it is here, and nothing is to come unless somebody says so. */
export function isSpent({ inHand, isClaiming, isDry, isLeft }: Entry): boolean {
  return (isDry || isLeft) && inHand === 0 && !isClaiming;
}

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

/** How many more items of it there is room for. */
export function roomOf({ lane, inHand }: Entry): number {
  return Math.min(lane.free, lane.limitOfJob - inHand);
}

/** Whether more items of it are to be claimed now: as many together as the lane claims. */
export function canTake(entry: Entry): boolean {
  const { lane, isClaiming, isDry, isLeft } = entry;
  if (isDry || isLeft || isClaiming || !lane.isOpen(performance.now())) return false;
  return roomOf(entry) >= lane.batch;
}

/** Whether nothing of it is here, and nothing is to come unless somebody says so. */
export function isSpent({ inHand, isClaiming, isDry, isLeft }: Entry): boolean {
  return (isDry || isLeft) && inHand === 0 && !isClaiming;
}

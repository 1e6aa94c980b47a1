import type { Figures } from '../load/tally.ts';

/**
 * From this share above the capacity on, a rate is an overload: the queue grows by that share of a second in each
 * second.
 */
const OVERLOAD = 0.03;
const THIRD = 1 / 3;

/**
 * Whether the queue of an open stage grew from its first third to its last: the calls of the last one then wait longer,
 * although the objective may still be met when the stage ends.
 * @param slices of the stage, equal parts in order.
 * @returns how the latency grew, or null if the queue was level.
 */
export function queueGrowth(slices: readonly Figures[], seconds: number): string | null {
  const count = Math.max(1, Math.floor(slices.length * THIRD));
  const first = meanLatencyMs(slices.slice(0, count));
  const last = meanLatencyMs(slices.slice(-count));
  if (first === null) return null;
  if (last === null) return 'its queue grew: the last third has no right answer';
  const apartMs = (1 - count / slices.length) * seconds * 1000;
  if (last - first <= OVERLOAD * apartMs) return null;
  return `its queue grew: the mean latency went from ${Math.round(first)} to ${Math.round(last)} ms`;
}

/** Null without a right answer. */
function meanLatencyMs(slices: readonly Figures[]): number | null {
  const right = slices.reduce((sum, slice) => sum + slice.right, 0);
  if (right === 0) return null;
  return slices.reduce((sum, slice) => sum + slice.right * (slice.latencyMs?.mean ?? 0), 0) / right;
}

import type { Rate } from './suite.ts';

/**
 * The times at which the calls of an open stage are due, in ms since its start, in order. A number is the rate of a
 * Poisson process, a ramp is one whose rate changes evenly over the stage, and given times are used unchanged.
 */
export function* dueTimes(
  rate: Rate,
  { durationMs, random }: { durationMs: number; random: () => number },
): Generator<number, void, undefined> {
  if (typeof rate === 'object' && 'atMs' in rate) {
    for (const atMs of rate.atMs) if (atMs <= durationMs) yield atMs;
    return;
  }
  const { from, to } = typeof rate === 'number' ? { from: rate, to: rate } : rate;
  const most = Math.max(from, to);
  const gapMs = () => (-Math.log(1 - random()) / most) * 1000;
  for (let atMs = gapMs(); atMs <= durationMs; atMs += gapMs()) {
    const now = from + ((to - from) * atMs) / durationMs;
    // Thinning: a call of the highest rate stays with the share that the present rate has of it.
    if (now === most || random() < now / most) yield atMs;
  }
}

/** Calls per second in the mean of a stage. */
export function meanRate(rate: Rate, seconds: number): number {
  if (typeof rate === 'number') return rate;
  if ('atMs' in rate) return rate.atMs.filter((atMs) => atMs <= seconds * 1000).length / seconds;
  return (rate.from + rate.to) / 2;
}

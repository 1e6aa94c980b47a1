import { DAY_MS } from '../../platform/values/units.ts';
import { type PlanWithoutStorage, UNLIMITED_RUNS } from './plans.ts';
import type { BillingStore, RunCount } from './store.ts';

/** `YYYY-MM`: the billing period of an instant, which is the calendar month in UTC. */
export function billingPeriodOf(instant: Date): string {
  return instant.toISOString().slice(0, 7);
}

/** The first instant of the period, and of the next period. */
export function billingPeriodBounds(period: string): { start: Date; end: Date } {
  const start = new Date(`${period}-01T00:00:00.000Z`);
  const end = new Date(start);
  end.setUTCMonth(end.getUTCMonth() + 1);
  return { start, end };
}

/** The runs that are used in a period. The stored count may belong to an earlier period. */
export function runsUsedIn(period: string, processing: RunCount): number {
  return processing.period < period ? 0 : processing.used;
}

/** The runs of the allowance that are left in a period; UNLIMITED on a plan without a limit. */
export function runsLeftIn(
  period: string,
  processing: RunCount,
  { processLimit }: PlanWithoutStorage,
): number {
  return processLimit === UNLIMITED_RUNS
    ? UNLIMITED_RUNS
    : Math.max(0, processLimit - runsUsedIn(period, processing));
}

/** The tolerated difference between the clocks of two hosts. */
const MAX_SKEW_MS = DAY_MS;

/**
 * Corrects counts whose period was begun by a clock that was far ahead. Otherwise all runs would be counted in that
 * period until its month has come. Runs that were counted meanwhile stay counted.
 */
export function correctFuturePeriods(store: BillingStore, now: Date): Promise<number> {
  const latest = billingPeriodOf(new Date(now.getTime() + MAX_SKEW_MS));
  return store.turnBackPeriods(latest, billingPeriodOf(now));
}

import { DAY_MS } from '../../platform/values/units.ts';
import { type PlanTerms, UNLIMITED } from './plans.ts';
import type { BillingStore, Processing } from './store.ts';

/** `YYYY-MM`: the billing period of an instant, which is the calendar month in UTC. */
export function periodOf(instant: Date): string {
  return instant.toISOString().slice(0, 7);
}

/** The first instant of the period, and of the next one. */
export function boundsOf(period: string): { start: Date; end: Date } {
  const start = new Date(`${period}-01T00:00:00.000Z`);
  const end = new Date(start);
  end.setUTCMonth(end.getUTCMonth() + 1);
  return { start, end };
}

/** The runs of a period. The stored count may belong to an earlier one. */
export function usedIn(period: string, processing: Processing): number {
  return processing.period < period ? 0 : processing.used;
}

/** The runs of a period that are left of the allowance; UNLIMITED on a plan without a limit. */
export function leftIn(period: string, processing: Processing, { processLimit }: PlanTerms): number {
  return processLimit === UNLIMITED ? UNLIMITED : Math.max(0, processLimit - usedIn(period, processing));
}

/** The tolerated difference between the clocks of two hosts. */
const MAX_SKEW_MS = DAY_MS;

/**
 * Corrects counts whose period was begun by a clock that was far ahead: otherwise all runs would be counted in that
 * period until its month. The runs that were counted meanwhile stay counted.
 */
export function turnBackPeriods(store: BillingStore, now: Date): Promise<number> {
  const latest = periodOf(new Date(now.getTime() + MAX_SKEW_MS));
  return store.turnBackPeriods(latest, periodOf(now));
}

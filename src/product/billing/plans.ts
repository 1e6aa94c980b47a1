import { type Static, Type } from '@sinclair/typebox';
import plansData from '../../../config/plans.json' with { type: 'json' };
import { checkDataFile, exactObjectSchema } from '../../platform/checked-data.ts';
import type { RunCount } from './store.ts';

const Plan = exactObjectSchema({
  id: Type.String({ minLength: 1 }),
  processLimit: Type.Integer({
    minimum: -1,
    description: 'Deterministic runs per calendar month; -1 is unlimited.',
  }),
  overageCredits: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
    description: 'Credits for each run past the limit; null without a limit.',
  }),
  storedAssets: Type.Integer({ minimum: 0 }),
  retentionDays: Type.Integer({ minimum: 1, description: 'How long jobs and what they made are kept.' }),
});
export type Plan = Static<typeof Plan>;
/** The schema is a constant, so that it is compiled once per process, although the plans are read several times. */
const Plans = Type.Array(Plan, { minItems: 1 });

/** The value of `processLimit`, and of the remaining runs, on a plan without a limit. */
export const UNLIMITED_RUNS = -1;

/**
 * Reads the plans of config/plans.json.
 * @throws Error that lists every violation: an invalid field, a repeated id, a limit without overageCredits.
 */
export function readPlans(plans: unknown = plansData): readonly Plan[] {
  const checked = checkDataFile('config/plans.json', Plans, plans);
  for (const [index, plan] of checked.entries()) {
    if (checked.findIndex(({ id }) => id === plan.id) !== index) {
      throw new Error(`config/plans.json names the plan ${plan.id} twice.`);
    }
    if (plan.processLimit !== UNLIMITED_RUNS && plan.overageCredits === null) {
      throw new Error(
        `config/plans.json limits the plan ${plan.id}, but has no overageCredits for runs past it.`,
      );
    }
  }
  return checked;
}

export function findPlan(plans: readonly Plan[], id: string): Plan | undefined {
  return plans.find((plan) => plan.id === id);
}

/**
 * The plan of an account.
 * @throws Error when the operator has removed the plan from plans.json while accounts are on it.
 */
export function requirePlan(plans: readonly Plan[], id: string): Plan {
  const plan = findPlan(plans, id);
  if (plan === undefined)
    throw new Error(`An account is on the plan ${id}, which config/plans.json does not have.`);
  return plan;
}

/** `YYYY-MM`: the billing period of an instant, which is the calendar month in UTC. */
export function billingPeriodOf(instant: Date): string {
  return instant.toISOString().slice(0, 7);
}

/** The first instant of the period, and the first instant of the next one. */
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

/** The runs of the allowance that are left in a period; UNLIMITED_RUNS on a plan without a limit. */
export function runsLeftIn(period: string, processing: RunCount, { processLimit }: Plan): number {
  if (processLimit === UNLIMITED_RUNS) return UNLIMITED_RUNS;
  return Math.max(0, processLimit - runsUsedIn(period, processing));
}

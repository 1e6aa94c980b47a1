import { DAY_MS } from '../../platform/names/units.ts';
import { insufficientCredit } from './errors.ts';
import type { Movement, Movements, Seen } from './movements.ts';
import { periodOf, turnPeriod } from './period.ts';
import type { PlanTerms } from './plan-terms.ts';
import type { BillingStore, LedgerRow, Money } from './store.ts';

/** The runs and credits that a job needs before it may run. */
export interface JobNeed {
  /** Runs against the processing allowance. */
  runs: number;
  /** The most credits that models may cost. */
  credits: number;
}

/**
 * The hold of a job. It is stored in the job document; the account document has only counters and the last movement.
 */
export interface JobHold extends JobNeed {
  /** `YYYY-MM`: the billing period that the runs were counted in. */
  period: string;
  /** Runs beyond the allowance. `overageCredits` are held for each. */
  past: number;
  overageCredits: number;
}

/** The charge of a job: the part of its hold that it used. */
interface JobCharge {
  credits: number;
  overage: number;
}

/** The balance and allowance for a job that would be submitted now. */
interface JobOutlook {
  balance: number;
  sufficientCredit: boolean;
  /** Runs that are left of the allowance before the job; -1 on a plan without a limit. */
  processCountLeft: number;
  overageRuns: number;
  overageCredits: number;
}

interface HoldsOptions {
  store: BillingStore;
  movements: Movements;
  plan: (id: string) => PlanTerms;
  topUpUrl: () => string;
  now: () => Date;
}

const UNLIMITED = -1;

/**
 * The money of jobs. A submit holds what the whole job may cost, in one movement under `hold/<jobId>`; the settlement
 * charges what was used (`charge/<jobId>` for models, `overage/<jobId>` for runs beyond the allowance) and gives the
 * rest back (`release/<jobId>`). Each is made once, even if it is requested repeatedly.
 */
export interface Holds {
  /** Reads the account for the hold of a job that does not exist yet. */
  see: (accountId: string) => Promise<Seen>;
  /**
   * Holds the highest cost of a job.
   * @param seen the account as read before the job existed; it saves the look-up of an earlier hold.
   * @throws ApiError 402 insufficient_credit
   */
  take(accountId: string, jobId: string, need: JobNeed, seen?: Seen | null): Promise<JobHold>;
  /**
   * Whether the account, as read, can pay for a job. It guarantees nothing, because other jobs may take the credits
   * first.
   */
  affords(seen: Seen, need: JobNeed): boolean;
  /** The highest price of a job, in credits, for the account as read. */
  priceSeen(seen: Seen, need: JobNeed): number;
  /** The expected result of `take`, for a dry run. */
  outlook(accountId: string, need: JobNeed): Promise<JobOutlook>;
  /** Charges for what a job used, and releases the rest of its hold. */
  settle(accountId: string, jobId: string, hold: JobHold, used: JobNeed): Promise<void>;
  /** Releases the hold of an unfinished submit, and prevents it from taking a hold later. */
  undo(accountId: string, jobId: string): Promise<void>;
  /** For the sweep: removes records of movements of runs whose job ended long ago. */
  sweep(): Promise<number>;
}

export function createHolds({ store, movements, plan, topUpUrl, now }: HoldsOptions): Holds {
  /** Computes the hold: runs use the allowance first, and credits are held for the runs past it. */
  function holdOf(account: Money, { runs, credits }: JobNeed, period: string): JobHold {
    const { processLimit, overageCredits } = plan(account.plan);
    const left = processLimit === UNLIMITED ? runs : Math.max(0, processLimit - account.processing.used);
    const ours = account.processing.period > period ? account.processing.period : period;
    return {
      runs,
      credits,
      period: ours,
      past: Math.max(0, runs - left),
      overageCredits: overageCredits ?? 0,
    };
  }

  return {
    see: movements.see,

    async take(accountId, jobId, need, seen: Seen | null = null) {
      const period = periodOf(now());
      if (need.runs === 0 && need.credits === 0) return { ...need, period, past: 0, overageCredits: 0 };
      let hold: JobHold | null = null;
      const planned = (account: Money): Movement => {
        if (account.processing.period < period) throw new PeriodIsOver();
        hold = holdOf(account, need, period);
        const isUnlimited = plan(account.plan).processLimit === UNLIMITED;
        return { ...holdMovement(jobId, hold), isUnlimited };
      };
      const outcome = await movements.move(accountId, planned, seen).catch(async (error: unknown) => {
        if (!(error instanceof PeriodIsOver)) throw error;
        await turnPeriod(store, accountId, period);
        return movements.move(accountId, planned);
      });
      if (outcome === 'moved' && hold !== null) return hold;
      if (outcome === 'already') throw new Error(`The hold of ${jobId} was given up before it was taken.`);
      throw tooDear(hold, topUpUrl());
    },

    affords({ account }, need) {
      if (account === null) return false;
      const hold = holdOf(inPeriod(account, periodOf(now())), need, periodOf(now()));
      return hold.past === 0 && account.balance - account.held >= heldBy(hold);
    },

    priceSeen({ account }, need) {
      return account === null ? 0 : heldBy(holdOf(inPeriod(account, periodOf(now())), need, periodOf(now())));
    },

    async outlook(accountId, need) {
      const account = await store.find(accountId);
      if (account === null) throw new Error(`The account ${accountId} is gone.`);
      const period = periodOf(now());
      const current = inPeriod(account, period);
      const { used } = current.processing;
      const hold = holdOf(current, need, period);
      const { processLimit } = plan(account.plan);
      return {
        balance: account.balance,
        sufficientCredit: account.balance - account.held >= heldBy(hold),
        processCountLeft: processLimit === UNLIMITED ? UNLIMITED : Math.max(0, processLimit - used),
        overageRuns: hold.past,
        overageCredits: hold.past * hold.overageCredits,
      };
    },

    async settle(accountId, jobId, hold, used) {
      const { credits, overage } = chargeOf(hold, used);
      if (credits > 0) await movements.move(accountId, payment(jobId, 'charge', credits));
      if (overage > 0) await movements.move(accountId, payment(jobId, 'overage', overage));
      const rest = heldBy(hold) - credits - overage;
      const unused = hold.runs - used.runs;
      if (rest > 0 || unused > 0) await movements.move(accountId, releaseMovement(jobId, hold, rest, unused));
    },

    async undo(accountId, jobId) {
      const reference = `hold/${jobId}`;
      const nothing = { reference, type: 'hold', credits: 0, heldChange: 0, jobId } as const;
      if ((await movements.move(accountId, nothing)) !== 'already') return;
      const row = await movements.rowOfJob(accountId, reference);
      if (row !== null) await this.settle(accountId, jobId, heldUnder(row), { runs: 0, credits: 0 });
    },

    async sweep() {
      return store.forgetRunMovements(new Date(now().getTime() - NOTE_LIFE_MS));
    },
  };
}

/** The account as of a period: a count of an earlier period is 0 in this one. */
function inPeriod(account: Money, period: string): Money {
  const { processing } = account;
  return processing.period < period ? { ...account, processing: { ...processing, used: 0 } } : account;
}

/** Thrown when the count of the account belongs to an earlier month. */
class PeriodIsOver extends Error {}

/**
 * Lifetime of a record of a movement of runs, which prevents a repeated movement. It is longer than any job can run.
 */
const NOTE_LIFE_MS = 400 * DAY_MS;

/** The price of what a job used: runs fill the allowance first. */
export function chargeOf(hold: JobHold, used: JobNeed): JobCharge {
  const inside = hold.runs - hold.past;
  return {
    credits: used.credits,
    overage: Math.max(0, used.runs - inside) * hold.overageCredits,
  };
}

export function heldBy({ credits, past, overageCredits }: JobHold): number {
  return credits + past * overageCredits;
}

function holdMovement(jobId: string, hold: JobHold): Movement {
  return {
    reference: `hold/${jobId}`,
    type: 'hold',
    credits: 0,
    heldChange: heldBy(hold),
    jobId,
    runs: { period: hold.period, change: hold.runs, past: hold.past },
  };
}

function releaseMovement(jobId: string, { period }: JobHold, credits: number, runs: number): Movement {
  return {
    reference: `release/${jobId}`,
    type: 'release',
    credits: 0,
    heldChange: -credits,
    jobId,
    runs: { period, change: -runs, past: 0 },
  };
}

function payment(jobId: string, type: 'charge' | 'overage', credits: number): Movement {
  return { reference: `${type}/${jobId}`, type, credits: -credits, heldChange: -credits, jobId };
}

/**
 * The hold that a row of the ledger records. Its division into credits and runs matters only to a charge, and there is
 * none.
 */
function heldUnder({ held, runs }: LedgerRow): JobHold {
  return {
    runs: runs?.change ?? 0,
    credits: held,
    period: runs?.period ?? '',
    past: 0,
    overageCredits: 0,
  };
}

function tooDear(hold: JobHold | null, topUpUrl: string) {
  const required = hold === null ? 0 : heldBy(hold);
  const { past = 0, overageCredits = 0 } = hold ?? {};
  return insufficientCredit(
    `The job needs ${required} credits, which the balance does not cover: top up, or send fewer items.`,
    topUpUrl,
    { required, ...(past > 0 && { overageRuns: past, overageCredits: past * overageCredits }) },
  );
}

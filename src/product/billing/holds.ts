import { DAY_MS } from '../../platform/values/units.ts';
import type { AllowanceOptions } from './allowance.ts';
import { type AccountSnapshot, type CreditMovement, insufficientCreditError } from './movements.ts';
import { billingPeriodOf, runsLeftIn, UNLIMITED_RUNS } from './plans.ts';
import { availableCreditsOf, type BillingAccount, type MovementType } from './store.ts';

/** The runs and credits that a job reserves before it starts. */
export interface JobNeed {
  /** The number of runs that count against the plan's allowance. */
  runs: number;
  /** The maximum number of credits that models may cost. */
  credits: number;
}

/**
 * The hold of a job: the runs and credits that are reserved for it. It is stored in the job document. The account
 * document contains only the totals and the last movement.
 */
export interface JobHold extends JobNeed {
  /** `YYYY-MM`: the billing period in which the runs were counted. */
  period: string;
  /** Runs beyond the allowance. For each of them, `overageCredits` are held. */
  past: number;
  overageCredits: number;
}

type HoldsOptions = Omit<AllowanceOptions, 'syncRuns' | 'holder'>;

/** What a job would cost now, and whether the account could pay for it. */
interface JobPriceOutlook {
  /** The highest cost in credits, including runs beyond the allowance. */
  price: number;
  balance: number;
  sufficientCredit: boolean;
  /** Runs of the allowance that are left before the job starts; -1 on a plan without a limit. */
  processCountLeft: number;
  overageRuns: number;
  overageCredits: number;
}

/**
 * Holds and charges the credits of jobs. A submit holds the highest cost of the job in one movement, `hold/<jobId>`.
 * The end of the job charges for what was used (`charge/<jobId>` for models, `overage/<jobId>` for runs beyond the
 * allowance) and releases the rest (`release/<jobId>`). Each movement is made once, even if it is requested repeatedly.
 */
export class JobHolds {
  readonly #options: HoldsOptions;

  constructor(options: HoldsOptions) {
    this.#options = options;
  }

  /** Reads the account before a new job is created, for the hold of that job. */
  readSnapshot(accountId: string): Promise<AccountSnapshot> {
    return this.#options.movements.readSnapshot(accountId);
  }

  /**
   * Holds the highest cost of a job.
   * @param snapshot the account as it was read before the job was created. It saves the search for an earlier hold of
   * the job.
   * @throws ApiError 402 insufficient_credit
   */
  async take(
    accountId: string,
    jobId: string,
    need: JobNeed,
    snapshot: AccountSnapshot | null = null,
  ): Promise<JobHold> {
    const period = billingPeriodOf(this.#options.now());
    if (need.runs === 0 && need.credits === 0) return { ...need, period, past: 0, overageCredits: 0 };
    let hold: JobHold | null = null;
    let available = 0;
    const movementFor = (account: BillingAccount): CreditMovement => {
      available = availableCreditsOf(account);
      if (account.processing.period < period) throw new PeriodEndedError();
      hold = this.#computeHold(account, need, period);
      const runs = { period: hold.period, change: hold.runs, past: hold.past };
      const isUnlimited = this.#options.plan(account.plan).processLimit === UNLIMITED_RUNS;
      return { ...emptyMovementOf(jobId, 'hold'), heldChange: creditsHeldBy(hold), runs, isUnlimited };
    };
    const outcome = await this.#options.movements
      .move(accountId, movementFor, snapshot)
      .catch(async (error: unknown) => {
        if (!(error instanceof PeriodEndedError)) throw error;
        await this.#options.store.beginPeriod(accountId, period);
        return this.#options.movements.move(accountId, movementFor);
      });
    if (outcome === 'moved' && hold !== null) return hold;
    if (outcome === 'already') throw new Error(`The hold of ${jobId} was given up before it was taken.`);
    throw notCoveredError(hold, available, this.#options.topUpUrl());
  }

  /** The highest price of a job, in credits, given the allowance that the account of the snapshot has left. */
  priceOf({ account }: AccountSnapshot, need: JobNeed): number {
    if (account === null) return 0;
    return creditsHeldBy(this.#computeHold(account, need, billingPeriodOf(this.#options.now())));
  }

  /** Computes what `take` would hold, for a dry run. */
  async readPriceOutlook(accountId: string, need: JobNeed): Promise<JobPriceOutlook> {
    const account = await this.#options.store.find(accountId);
    if (account === null) throw new Error(`The account ${accountId} is gone.`);
    const period = billingPeriodOf(this.#options.now());
    const hold = this.#computeHold(account, need, period);
    return {
      price: creditsHeldBy(hold),
      balance: account.balance,
      sufficientCredit: availableCreditsOf(account) >= creditsHeldBy(hold),
      processCountLeft: runsLeftIn(period, account.processing, this.#options.plan(account.plan)),
      overageRuns: hold.past,
      overageCredits: hold.past * hold.overageCredits,
    };
  }

  /** Charges for what a job used, and releases the rest of its hold. */
  async charge(accountId: string, jobId: string, hold: JobHold, used: JobNeed): Promise<void> {
    const { credits, overage } = jobChargeOf(hold, used);
    if (credits > 0) await this.#options.movements.move(accountId, chargeMovement(jobId, 'charge', credits));
    if (overage > 0) await this.#options.movements.move(accountId, chargeMovement(jobId, 'overage', overage));
    const rest = creditsHeldBy(hold) - credits - overage;
    const unused = hold.runs - used.runs;
    if (rest <= 0 && unused <= 0) return;
    const runs = { period: hold.period, change: -unused, past: 0 };
    const movement = { ...emptyMovementOf(jobId, 'release'), heldChange: -rest, runs };
    await this.#options.movements.move(accountId, movement);
  }

  /** Releases the hold of an unfinished submit. It also prevents the submit from taking a hold later. */
  async undo(accountId: string, jobId: string): Promise<void> {
    const nothing = emptyMovementOf(jobId, 'hold');
    if ((await this.#options.movements.move(accountId, nothing)) !== 'already') return;
    const row = await this.#options.movements.findJobRow(accountId, nothing.reference);
    if (row === null) return;
    // This hold may divide credits and runs differently from the job's own hold. That does not matter, because the hold
    // is only released.
    const { change: runs = 0, period = '' } = row.runs ?? {};
    const hold = { runs, credits: row.held, period, past: 0, overageCredits: 0 };
    await this.charge(accountId, jobId, hold, { runs: 0, credits: 0 });
  }

  /** For the sweep: removes the records of run movements of jobs that ended long ago. */
  sweep(): Promise<number> {
    return this.#options.store.deleteRunMovements(
      new Date(this.#options.now().getTime() - RUN_MOVEMENT_LIFE_MS),
    );
  }

  /**
   * Computes the hold of a job. The job uses the rest of the allowance first; credits are held only for runs beyond it.
   */
  #computeHold(
    { plan: planId, processing }: BillingAccount,
    { runs, credits }: JobNeed,
    period: string,
  ): JobHold {
    const terms = this.#options.plan(planId);
    const left = runsLeftIn(period, processing, terms);
    return {
      runs,
      credits,
      period: processing.period > period ? processing.period : period,
      past: left === UNLIMITED_RUNS ? 0 : Math.max(0, runs - left),
      overageCredits: terms.overageCredits ?? 0,
    };
  }
}

/** Thrown when the account's count of runs belongs to an earlier month, so that a new period must begin first. */
class PeriodEndedError extends Error {}

/**
 * The lifetime of the record of a run movement. The record prevents the movement from being repeated, so it must
 * outlive every job.
 */
const RUN_MOVEMENT_LIFE_MS = 400 * DAY_MS;

/** The charge for a job: the price of the used part of its hold. Runs use the allowance first. */
export function jobChargeOf(hold: JobHold, used: JobNeed): { credits: number; overage: number } {
  const inside = hold.runs - hold.past;
  return { credits: used.credits, overage: Math.max(0, used.runs - inside) * hold.overageCredits };
}

export function creditsHeldBy({ credits, past, overageCredits }: JobHold): number {
  return credits + past * overageCredits;
}

/** A movement of a job without changes, which the caller fills in. Each job makes at most one movement of each type. */
function emptyMovementOf(jobId: string, type: MovementType): CreditMovement {
  return { reference: `${type}/${jobId}`, type, credits: 0, heldChange: 0, jobId };
}

function chargeMovement(jobId: string, type: 'charge' | 'overage', credits: number): CreditMovement {
  return { ...emptyMovementOf(jobId, type), credits: -credits, heldChange: -credits };
}

function notCoveredError(hold: JobHold | null, available: number, topUpUrl: string) {
  const required = hold === null ? 0 : creditsHeldBy(hold);
  const { past = 0, overageCredits = 0 } = hold ?? {};
  return insufficientCreditError(
    `The job needs ${required} credits, and ${available} are available: top up, or send a job that costs no more.`,
    topUpUrl,
    { required, available, ...(past > 0 && { overageRuns: past, overageCredits: past * overageCredits }) },
  );
}

import type { ApiError } from '../../platform/http/errors/errors.ts';
import { randomText } from '../../platform/ids/ids.ts';
import { DAY_MS } from '../../platform/values/units.ts';
import { type CreditMovements, insufficientCreditError } from './movements.ts';
import { billingPeriodOf, type Plan, runsLeftIn, UNLIMITED_RUNS } from './plans.ts';
import {
  availableCreditsOf,
  type BillingAccount,
  type BillingStore,
  canSpendFilter,
  type RunReservation,
} from './store.ts';
import type { SyncRunCounter } from './sync-runs.ts';

/**
 * The lifetime of a reservation. It is longer than any synchronous call, so that only reservations of dead processes
 * expire.
 */
const RESERVATION_LIFE_MS = 120_000;
const MAX_RESERVE_ATTEMPTS = 50;
/** The maximum number of accounts that one sweep handles. */
const SWEEP_BATCH_SIZE = 100;
/** The tolerated difference between the clocks of two hosts. */
const MAX_CLOCK_SKEW_MS = DAY_MS;

/**
 * An admitted run. When the run has ended, one of the two methods must be called. Later calls of either method do
 * nothing.
 */
export interface AdmittedRun {
  /** Counts the successful run, and charges for it if it was beyond the allowance. */
  succeed(use: { op: string; apiKeyId: string | null }): Promise<void>;
  /** Releases the reservation of a failed run, which is neither counted nor charged. */
  release(): Promise<void>;
}

export interface AllowanceOptions {
  store: BillingStore;
  movements: CreditMovements;
  syncRuns: SyncRunCounter;
  plan: (id: string) => Plan;
  /** The URL for adding credits. The error for insufficient credits contains it. */
  topUpUrl: () => string;
  /** The name of this process. */
  holder: string;
  now: () => Date;
}

/**
 * The allowance of runs for synchronous calls. On a plan with a limit, a run is counted before it starts, and credits
 * are held for a run beyond the limit. One conditional update does both, so that no more runs are admitted than the
 * account can pay for. On an unlimited plan no run is refused, so a run is counted after it has succeeded.
 */
export class RunAllowance {
  readonly #options: AllowanceOptions;

  constructor(options: AllowanceOptions) {
    this.#options = options;
  }

  /**
   * Admits one run.
   * @throws ApiError 402 insufficient_credit when the allowance is used up and the balance does not cover the run.
   */
  async begin({ accountId, plan: planId }: { accountId: string; plan: string }): Promise<AdmittedRun> {
    const terms = this.#options.plan(planId);
    if (terms.processLimit === UNLIMITED_RUNS) {
      return {
        succeed: async (use) =>
          this.#options.syncRuns.record({ accountId, ...use, terms, mustBeCounted: true }),
        release: async () => undefined,
      };
    }
    const reservation = await this.#reserve(accountId, terms);
    if (reservation === null) throw insufficientAllowanceError(terms, this.#options.topUpUrl());
    return {
      succeed: async (use) => {
        await this.#charge(accountId, reservation);
        this.#options.syncRuns.record({ accountId, ...use, terms, mustBeCounted: false });
      },
      release: () => this.#options.store.uncountReservation(accountId, reservation),
    };
  }

  /** Estimates the credits that each of `runs` runs would cost now, without counting or holding anything. */
  async estimate(
    { accountId, plan: planId }: { accountId: string; plan: string },
    runs: number,
  ): Promise<number[]> {
    const terms = this.#options.plan(planId);
    const account = terms.processLimit === UNLIMITED_RUNS ? null : await this.#options.store.find(accountId);
    const left =
      account === null ? runs : runsLeftIn(billingPeriodOf(this.#options.now()), account.processing, terms);
    return Array.from({ length: runs }, (_, index) => (index < left ? 0 : (terms.overageCredits ?? 0)));
  }

  /** Corrects periods that lie in the future, releases the reservations of dead processes, and returns their number. */
  async sweep(): Promise<number> {
    const now = this.#options.now();
    const latest = billingPeriodOf(new Date(now.getTime() + MAX_CLOCK_SKEW_MS));
    // A host with a wrong clock may have begun a period too far in the future. Without this correction, all runs would
    // be counted in that period until its month has come. Runs that were counted in it stay counted.
    await this.#options.store.resetFuturePeriods(latest, billingPeriodOf(now));
    const overdue = await this.#options.store.findWithExpiredReservations(now, SWEEP_BATCH_SIZE);
    let freed = 0;
    for (const account of overdue) freed += await this.#releaseExpired(account);
    return freed;
  }

  /** Counts the run and holds its credits. Null when the account cannot pay for it. */
  async #reserve(accountId: string, terms: Plan): Promise<RunReservation | null> {
    const period = billingPeriodOf(this.#options.now());
    const until = new Date(this.#options.now().getTime() + RESERVATION_LIFE_MS).toISOString();
    const { holder } = this.#options;
    const inside: RunReservation = { id: randomText(20), period, credits: 0, until, holder };
    const past: RunReservation = { ...inside, credits: terms.overageCredits ?? 0 };
    for (let attempt = 0; attempt < MAX_RESERVE_ATTEMPTS; attempt += 1) {
      if (await this.#countRun(accountId, inside, { 'processing.used': { $lt: terms.processLimit } }))
        return inside;
      const usedUp = { 'processing.used': { $gte: terms.processLimit } };
      if (await this.#countRun(accountId, past, { ...usedUp, ...canSpendFilter(past.credits) })) return past;
      if (!(await this.#beginPeriodOrReleaseExpired(accountId, period))) return null;
    }
    return null;
  }

  /**
   * Counts a run in a billing period. If the clock of another host is ahead, the account may already be in the next
   * period. In this case, the run is counted in that period.
   */
  async #countRun(accountId: string, reservation: RunReservation, condition: object): Promise<boolean> {
    return this.#options.store.change(
      accountId,
      { 'processing.period': { $gte: reservation.period }, ...condition },
      {
        $inc: { 'processing.used': 1, held: reservation.credits },
        $push: { 'processing.reservations': reservation },
      },
    );
  }

  /**
   * Begins the next billing period, or else releases the reservations of dead processes. Returns false when there was
   * nothing to do.
   */
  async #beginPeriodOrReleaseExpired(accountId: string, period: string): Promise<boolean> {
    if (await this.#options.store.beginPeriod(accountId, period)) return true;
    const account = await this.#options.store.find(accountId);
    if (account === null) return false;
    const freed = await this.#releaseExpired(account);
    return freed > 0 || canPayForRun(account, period, this.#options.plan(account.plan));
  }

  async #releaseExpired(account: BillingAccount): Promise<number> {
    const instant = this.#options.now().toISOString();
    const expired = account.processing.reservations.filter(({ until }) => until < instant);
    for (const reservation of expired) await this.#options.store.uncountReservation(account._id, reservation);
    return expired.length;
  }

  async #charge(accountId: string, { id, credits }: RunReservation): Promise<void> {
    if (credits === 0) {
      await this.#options.store.change(accountId, {}, { $pull: { 'processing.reservations': { id } } });
      return;
    }
    await this.#options.movements.move(accountId, {
      reference: `run/${id}`,
      type: 'overage',
      credits: -credits,
      heldChange: -credits,
      reservationId: id,
    });
  }
}

/**
 * Whether the account can now pay for a run. The caller reads the account again after a refusal, because the balance
 * may have changed.
 */
function canPayForRun(account: BillingAccount, period: string, terms: Plan): boolean {
  if (account.processing.period < period) return false;
  return (
    account.processing.used < terms.processLimit || availableCreditsOf(account) >= (terms.overageCredits ?? 0)
  );
}

function insufficientAllowanceError({ processLimit, overageCredits }: Plan, topUpUrl: string): ApiError {
  const message = `The allowance of ${processLimit} runs this month is used up, and the balance does not cover ${overageCredits} more credit: top up, or wait for the next month.`;
  return insufficientCreditError(message, topUpUrl, { processLimit, overageCredits });
}

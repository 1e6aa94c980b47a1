import type { ApiError } from '../../platform/http/errors/errors.ts';
import { randomText } from '../../platform/ids/ids.ts';
import { insufficientCredit } from './errors.ts';
import type { Movements } from './movements.ts';
import { periodOf, turnBackPeriods } from './period.ts';
import { type PlanTerms, UNLIMITED } from './plans.ts';
import {
  availableOf,
  type BillingAccount,
  type BillingStore,
  covering,
  type RunReservation,
} from './store.ts';
import type { SyncRuns } from './sync-runs.ts';

/**
 * Lifetime of a reservation. It is longer than any synchronous call and only ends the reservations of dead processes.
 */
const RESERVATION_LIFE_MS = 120_000;
const MAX_ATTEMPTS = 50;
/** The most accounts of one sweep. */
const SWEPT_AT_ONCE = 100;

/** An admitted run. Exactly one of the two methods ends it; a second call does nothing. */
export interface Run {
  /** Counts the run, which succeeded, and charges for it when it was past the allowance. */
  succeed(use: { op: string; apiKeyId: string | null }): Promise<void>;
  /** Releases the reservation of the run, which failed: it is neither counted nor charged. */
  release(): Promise<void>;
}

interface AllowanceOptions {
  store: BillingStore;
  movements: Movements;
  syncRuns: SyncRuns;
  plan: (id: string) => PlanTerms;
  /** The URL for adding credits, which a refusal for lack of credits names. */
  topUpUrl: () => string;
  now: () => Date;
}

/**
 * The processing allowance of synchronous calls. On a plan with a limit, a run is counted before it starts, and its
 * credits are held when it is past the limit. One conditional update does this, so no more runs are admitted than the
 * account can pay for. On an unlimited plan, no run is refused, so a run is counted after it has succeeded.
 */
export interface Allowance {
  /**
   * Admits one run.
   * @throws ApiError 402 insufficient_credit when the allowance is used up and the balance does not cover the run.
   */
  begin(account: { accountId: string; plan: string }): Promise<Run>;
  /** Releases the reservations of dead processes, for all accounts; returns how many. */
  sweep(): Promise<number>;
}

export function createAllowance(options: AllowanceOptions): Allowance {
  const { store, movements, syncRuns, plan, now } = options;

  /** Counts the run and holds what it costs. Null when the account does not cover it. */
  async function reserve(accountId: string, terms: PlanTerms): Promise<RunReservation | null> {
    const period = periodOf(now());
    const until = new Date(now().getTime() + RESERVATION_LIFE_MS).toISOString();
    const inside: RunReservation = { id: randomText(20), period, credits: 0, until };
    const past: RunReservation = { ...inside, credits: terms.overageCredits ?? 0 };
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      if (await count(accountId, inside, { 'processing.used': { $lt: terms.processLimit } })) return inside;
      const usedUp = { 'processing.used': { $gte: terms.processLimit } };
      if (await count(accountId, past, { ...usedUp, ...covering(past.credits) })) return past;
      if (!(await freeAllowance(accountId, period))) return null;
    }
    return null;
  }

  /** The period of the account may be one month ahead, when the clock of another host is: it is then used unchanged. */
  async function count(accountId: string, reservation: RunReservation, condition: object): Promise<boolean> {
    return store.change(
      accountId,
      { 'processing.period': { $gte: reservation.period }, ...condition },
      {
        $inc: { 'processing.used': 1, held: reservation.credits },
        $push: { 'processing.reservations': reservation },
      },
    );
  }

  /** Begins the next period, or releases the reservations of dead processes; false when there was nothing to do. */
  async function freeAllowance(accountId: string, period: string): Promise<boolean> {
    if (await store.beginPeriod(accountId, period)) return true;
    const account = await store.find(accountId);
    if (account === null) return false;
    const freed = await releaseExpired(account);
    return freed > 0 || hasAllowance(account, period, plan(account.plan));
  }

  async function releaseExpired(account: BillingAccount): Promise<number> {
    const instant = now().toISOString();
    const expired = account.processing.reservations.filter(({ until }) => until < instant);
    for (const reservation of expired) await giveBack(account._id, reservation);
    return expired.length;
  }

  /** Subtracts a reservation from the count of its own period. */
  async function giveBack(accountId: string, { id, period, credits }: RunReservation): Promise<void> {
    const here = { 'processing.reservations': { $elemMatch: { id } } };
    const freed = { $pull: { 'processing.reservations': { id } }, $inc: { held: -credits } };
    const counted = { ...freed, $inc: { held: -credits, 'processing.used': -1 } };
    const wasCounted = await store.change(accountId, { ...here, 'processing.period': period }, counted);
    if (!wasCounted) await store.change(accountId, here, freed);
  }

  async function charge(accountId: string, { id, credits }: RunReservation): Promise<void> {
    if (credits === 0) {
      await store.change(accountId, {}, { $pull: { 'processing.reservations': { id } } });
      return;
    }
    await movements.move(accountId, {
      reference: `run/${id}`,
      type: 'overage',
      credits: -credits,
      heldChange: -credits,
      reservationId: id,
    });
  }

  return {
    async begin({ accountId, plan: planId }) {
      const terms = plan(planId);
      if (terms.processLimit === UNLIMITED) {
        return {
          succeed: async (use) => syncRuns.record({ accountId, ...use, terms, counts: true }),
          release: async () => undefined,
        };
      }
      const reservation = await reserve(accountId, terms);
      if (reservation === null) throw insufficient(terms, options.topUpUrl());
      return {
        async succeed(use) {
          await charge(accountId, reservation);
          syncRuns.record({ accountId, ...use, terms, counts: false });
        },
        release: () => giveBack(accountId, reservation),
      };
    },

    async sweep() {
      await turnBackPeriods(store, now());
      const overdue = await store.findWithExpiredReservations(now(), SWEPT_AT_ONCE);
      let freed = 0;
      for (const account of overdue) freed += await releaseExpired(account);
      return freed;
    },
  };
}

/** Whether a refusal is outdated, because the account can pay for a run by now. */
function hasAllowance(account: BillingAccount, period: string, terms: PlanTerms): boolean {
  if (account.processing.period < period) return false;
  return account.processing.used < terms.processLimit || availableOf(account) >= (terms.overageCredits ?? 0);
}

function insufficient({ processLimit, overageCredits }: PlanTerms, topUpUrl: string): ApiError {
  return insufficientCredit(
    `The allowance of ${processLimit} runs this month is used up, and the balance does not cover ${overageCredits} more credit: top up, or wait for the next month.`,
    topUpUrl,
    { processLimit, overageCredits },
  );
}

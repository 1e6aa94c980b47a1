import type { ApiError } from '../../platform/http/errors.ts';
import { randomText } from '../../platform/names/ids.ts';
import { insufficientCredit } from './errors.ts';
import type { Movements } from './movements.ts';
import { periodOf, turnBackPeriods, turnPeriod } from './period.ts';
import type { PlanTerms } from './plan-terms.ts';
import type { BillingStore, Money, Reservation } from './store.ts';
import type { SyncRuns } from './sync-runs.ts';

/** Longer than any synchronous call: it only heals what a dead process left. */
const RESERVATION_LIFE_MS = 120_000;
const MOST_ATTEMPTS = 50;
/** Accounts that one turn of the sweep looks at. */
const SWEPT_AT_ONCE = 100;

/** A run that was let in. Ends in exactly one of the two; a second end does nothing. */
export interface Run {
  /** It succeeded: it counts, and is paid for when it was past the allowance. */
  succeed(use: { op: string; apiKeyId: string | null }): Promise<void>;
  /** It failed: it counts for nothing and costs nothing. */
  release(): Promise<void>;
}

interface AllowanceOptions {
  store: BillingStore;
  movements: Movements;
  syncRuns: SyncRuns;
  plan: (id: string) => PlanTerms;
  /** Where credits are added; part of the refusal for want of them. */
  topUpUrl: () => string;
  now: () => Date;
}

/**
 * The processing allowance of synchronous calls. On a plan with a limit a run is counted, and past the limit its
 * credits are held, before it starts: one conditional update that cannot let in more than is there. On an unlimited
 * plan nothing can be refused, so a run is counted when it has succeeded.
 */
export interface Allowance {
  /**
   * Lets one run in.
   * @throws ApiError 402 insufficient_credit when the allowance is used up and the balance does not cover the run.
   */
  begin(account: { accountId: string; plan: string }): Promise<Run>;
  /** Gives back what died with its process, for every account; answers how many reservations. */
  sweep(): Promise<number>;
}

export function createAllowance(options: AllowanceOptions): Allowance {
  const { store, movements, syncRuns, plan, now } = options;

  /** Counts the run and holds what it costs. Null when the account does not cover it. */
  async function reserve(accountId: string, terms: PlanTerms): Promise<Reservation | null> {
    const period = periodOf(now());
    const until = new Date(now().getTime() + RESERVATION_LIFE_MS).toISOString();
    const inside: Reservation = { id: randomText(20), period, credits: 0, until };
    const past: Reservation = { ...inside, credits: terms.overageCredits ?? 0 };
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      if (await count(accountId, inside, { 'processing.used': { $lt: terms.processLimit } })) return inside;
      const covered = { $expr: { $gte: [{ $subtract: ['$balance', '$held'] }, past.credits] } };
      if (await count(accountId, past, { 'processing.used': { $gte: terms.processLimit }, ...covered }))
        return past;
      if (!(await makeRoom(accountId, period))) return null;
    }
    return null;
  }

  /** A period that the clock of another host has turned to already counts as ours. */
  async function count(accountId: string, reservation: Reservation, condition: object): Promise<boolean> {
    return store.change(
      accountId,
      { 'processing.period': { $gte: reservation.period }, ...condition },
      {
        $inc: { 'processing.used': 1, held: reservation.credits },
        $push: { 'processing.reservations': reservation },
      },
    );
  }

  /** Turns the period or gives back what dead processes left; false when there was nothing to do. */
  async function makeRoom(accountId: string, period: string): Promise<boolean> {
    if (await turnPeriod(store, accountId, period)) return true;
    const account = await store.find(accountId);
    if (account === null) return false;
    const freed = await releaseExpired(account);
    return freed > 0 || hasAllowance(account, period, plan(account.plan));
  }

  async function releaseExpired(account: Money): Promise<number> {
    const instant = now().toISOString();
    const expired = account.processing.reservations.filter(({ until }) => until < instant);
    for (const reservation of expired) await giveBack(account._id, reservation);
    return expired.length;
  }

  /** Un-counts a reservation, in the period that it was counted in. */
  async function giveBack(accountId: string, { id, period, credits }: Reservation): Promise<void> {
    const here = { 'processing.reservations.id': id };
    const freed = { $pull: { 'processing.reservations': { id } }, $inc: { held: -credits } };
    const counted = { ...freed, $inc: { held: -credits, 'processing.used': -1 } };
    const wasCounted = await store.change(accountId, { ...here, 'processing.period': period }, counted);
    if (!wasCounted) await store.change(accountId, here, freed);
  }

  async function settle(accountId: string, { id, credits }: Reservation): Promise<void> {
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
    async begin(account) {
      const { accountId } = account;
      const terms = plan(account.plan);
      if (terms.processLimit === -1) {
        return {
          succeed: async (use) => syncRuns.record({ accountId, ...use, terms, counts: true }),
          release: async () => undefined,
        };
      }
      const reservation = await reserve(accountId, terms);
      if (reservation === null) throw insufficient(terms, options.topUpUrl());
      return {
        async succeed(use) {
          await settle(accountId, reservation);
          syncRuns.record({ accountId, ...use, terms, counts: false });
        },
        release: () => giveBack(accountId, reservation),
      };
    },

    async sweep() {
      await turnBackPeriods(store, now());
      const left = await store.findWithExpiredReservations(now(), SWEPT_AT_ONCE);
      let freed = 0;
      for (const account of left) freed += await releaseExpired(account);
      return freed;
    },
  };
}

/** Whether a refusal was overtaken: the account would let a run in now. */
function hasAllowance({ processing, balance, held }: Money, period: string, terms: PlanTerms): boolean {
  if (processing.period < period) return false;
  return processing.used < terms.processLimit || balance - held >= (terms.overageCredits ?? 0);
}

function insufficient({ processLimit, overageCredits }: PlanTerms, topUpUrl: string): ApiError {
  return insufficientCredit(
    `The allowance of ${processLimit} runs this month is used up, and the balance does not cover ${overageCredits} more credit: top up, or wait for the next month.`,
    topUpUrl,
    { processLimit, overageCredits },
  );
}

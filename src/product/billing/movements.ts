import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { ApiError } from '../../platform/http/errors/errors.ts';
import { newId } from '../../platform/ids/ids.ts';
import type { DocumentFilter } from '../../platform/stores/documents/port.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import {
  availableCreditsOf,
  type BillingAccount,
  type BillingStore,
  canSpendFilter,
  type LedgerRow,
  type MovementType,
} from './store.ts';

export interface CreditMovement {
  reference: string;
  type: MovementType;
  /** Signed change of the balance. */
  credits: number;
  /** Signed change of the held credits. */
  heldChange: number;
  jobId?: string;
  note?: string;
  /** A reservation of the account that the same update removes. */
  reservationId?: string;
  /** Runs of the allowance that the same update counts or gives back. */
  runs?: NonNullable<LedgerRow['runs']>;
  /**
   * Whether the plan has no limit of runs. If so, the runs are counted even if another call has changed the count since
   * it was read.
   */
  isUnlimited?: boolean;
}

/**
 * A movement, or a function that computes it from the account. The function is called again if another movement has
 * changed the account since.
 */
type MovementOrMaker = CreditMovement | ((account: BillingAccount) => CreditMovement);

/**
 * An account, read before the job of a movement was created. A movement with a snapshot needs no search for an earlier
 * movement of that job: it succeeds only if the account has had no other movement since.
 */
export interface AccountSnapshot {
  account: BillingAccount | null;
  /** The number of movements that this process had made on the account when it was read. */
  moves: number;
}

type MovementResult = 'moved' | 'already' | 'insufficient';

const MAX_MOVE_ATTEMPTS = 400;
const MAX_MOVE_PAUSE_MS = 20;

/**
 * Makes every change of a balance. The account document contains the balance, the held credits and the whole last
 * movement, so that a movement is one conditional update. The row of a movement in the ledger is written afterwards,
 * from the last movement in the document:
 *
 *   1. look for a movement with this reference, unless the reference is new (`AccountSnapshot`), and check the credits
 *   2. write the row of the last movement, because its process may have died
 *   3. change the account, on the condition that its last movement is still the same   <- the movement
 *   4. write the row of this movement
 *
 * A crash before step 3 changes nothing. After a later crash, the next movement or the next reader of the ledger writes
 * the row. Step 3 fails when another process has moved credits of the account in between; all steps are then tried
 * again. Of N concurrent movements, one succeeds in each round. The movements of one process wait for each other, so N
 * is the number of processes.
 */
export class CreditMovements {
  readonly #store: BillingStore;
  readonly #now: () => Date;
  readonly #queueEnds = new Map<string, Promise<unknown>>();
  /** The reference of the last ledger row that this process has written, by account. */
  readonly #lastWrittenReferences = new LRUCache<string, string>({ max: 10_000 });
  /** The number of movements that this process has made, by account. */
  readonly #moveCounts = new LRUCache<string, number>({ max: 10_000 });
  /** Ledger rows that are being written, by account. */
  readonly #runningWrites = new Map<string, Promise<void>>();

  constructor(store: BillingStore, now: () => Date) {
    this.#store = store;
    this.#now = now;
  }

  /** Reads an account for a movement whose reference does not exist yet. */
  async readSnapshot(accountId: string): Promise<AccountSnapshot> {
    const before = this.#moveCountOf(accountId);
    return { account: await this.#store.find(accountId), moves: before };
  }

  /**
   * Makes a movement, unless its reference exists already.
   * @param snapshot the account, read before the reference was created. Without it, an earlier movement with the
   * reference is looked up.
   * @returns `insufficient` when the available credits do not suffice. In this case, nothing is moved.
   */
  move(
    accountId: string,
    movement: MovementOrMaker,
    snapshot: AccountSnapshot | null = null,
  ): Promise<MovementResult> {
    return this.#enqueue(accountId, async () => {
      for (let attempts = 1; attempts <= MAX_MOVE_ATTEMPTS; attempts += 1) {
        const outcome = await this.#attemptMove(accountId, movement, attempts === 1 ? snapshot : null);
        if (outcome !== 'overtaken') return outcome;
        await sleep(Math.random() * Math.min(attempts, MAX_MOVE_PAUSE_MS));
      }
      throw new Error(`A movement of ${accountId} was overtaken ${MAX_MOVE_ATTEMPTS} times.`);
    });
  }

  /** The ledger row of a job's movement, even if it is not written yet. Null when there was no such movement. */
  async findJobRow(accountId: string, reference: string): Promise<LedgerRow | null> {
    const last = await this.#store.findLastMovement(accountId);
    return last?.reference === reference ? last : this.#store.findRowByReference(accountId, reference, true);
  }

  /** Writes the ledger row of the account's last movement, if it was not written because of a crash. */
  async writeLastRow(accountId: string): Promise<void> {
    const last = await this.#store.findLastMovement(accountId);
    if (last !== null) await this.#store.writeRow(last);
  }

  /**
   * Runs work on an account when this process has finished its earlier work on that account, including the writing of
   * ledger rows.
   */
  #enqueue<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    const result = (this.#queueEnds.get(accountId) ?? Promise.resolve()).then(work, work);
    const queueEnd = result
      .catch(() => undefined)
      .then(() => this.#runningWrites.get(accountId))
      .finally(() => {
        if (this.#queueEnds.get(accountId) === queueEnd) this.#queueEnds.delete(accountId);
      });
    this.#queueEnds.set(accountId, queueEnd);
    return result;
  }

  #moveCountOf(accountId: string): number {
    return this.#moveCounts.get(accountId) ?? 0;
  }

  async #attemptMove(
    accountId: string,
    plan: MovementOrMaker,
    snapshot: AccountSnapshot | null,
  ): Promise<MovementResult | 'overtaken'> {
    const isFresh = snapshot !== null && snapshot.moves === this.#moveCountOf(accountId);
    const account = isFresh ? snapshot.account : await this.#store.find(accountId);
    if (account === null) return 'insufficient';
    const movement = typeof plan === 'function' ? plan(account) : plan;
    const last = account.movement;
    const { reference, jobId, reservationId, runs } = movement;
    const isMade =
      last?.reference === reference ||
      (!isFresh &&
        (await this.#store.findRowByReference(accountId, reference, jobId !== undefined)) !== null);
    const isReserved = account.processing.reservations.some(({ id }) => id === reservationId);
    if (isMade || (reservationId !== undefined && !isReserved)) return 'already';
    // The account is read again before a refusal, because the balance may have risen.
    const spent = requiredCreditsOf(movement);
    if (spent > 0 && availableCreditsOf(account) < spent) return isFresh ? 'overtaken' : 'insufficient';
    if (last !== null) await this.#writeRowOnce(accountId, last);
    const row = ledgerRowOf(account, movement, this.#now());
    const hasMoved = await this.#store.change(accountId, movementCondition(account, movement), {
      $inc: {
        balance: movement.credits,
        held: movement.heldChange,
        // If the account is already in another period, its count is not changed.
        'processing.used': runs?.period === account.processing.period ? runs.change : 0,
      },
      $set: { movement: row },
      ...(reservationId !== undefined && { $pull: { 'processing.reservations': { id: reservationId } } }),
    });
    this.#moveCounts.set(accountId, this.#moveCountOf(accountId) + 1);
    if (!hasMoved) return 'overtaken';
    // The row is written in the background. If the write fails, the movement still counts, and the next movement of the
    // account writes the row or throws.
    const runningWrite = this.#writeRowOnce(accountId, row)
      .catch(() => undefined)
      .finally(() => this.#runningWrites.delete(accountId));
    this.#runningWrites.set(accountId, runningWrite);
    return 'moved';
  }

  /** Writes a row, unless this process has already written it. */
  async #writeRowOnce(accountId: string, row: LedgerRow): Promise<void> {
    if (this.#lastWrittenReferences.get(accountId) === row.reference) return;
    await this.#store.writeRow(row);
    this.#lastWrittenReferences.set(accountId, row.reference);
  }
}

/** The credits that must be available for a movement, because it charges or holds them. */
function requiredCreditsOf({ credits, heldChange }: CreditMovement): number {
  return heldChange - credits;
}

/**
 * The condition on the account for a movement. The last movement must be the one that was read. The account must have
 * enough credits, and the reservation that the movement removes. If the movement counts runs, the period must be
 * unchanged. On a plan with a limit, the count of runs must be unchanged as well.
 */
function movementCondition(
  { movement: last, processing }: BillingAccount,
  movement: CreditMovement,
): DocumentFilter {
  const { reservationId, runs, isUnlimited = false } = movement;
  const spent = requiredCreditsOf(movement);
  const isLimited = runs !== undefined && runs.change > 0 && !isUnlimited;
  return {
    'movement.reference': last?.reference ?? null,
    ...(spent > 0 && canSpendFilter(spent)),
    ...(reservationId !== undefined && { 'processing.reservations': { $elemMatch: { id: reservationId } } }),
    ...(runs !== undefined && { 'processing.period': processing.period }),
    ...(isLimited && { 'processing.used': processing.used }),
  };
}

function ledgerRowOf(account: BillingAccount, movement: CreditMovement, now: Date): LedgerRow {
  const { reference, type, credits, heldChange, jobId = null, runs, note = null } = movement;
  const movesBalance = type !== 'hold' && type !== 'release';
  return {
    _id: newId('led', now.getTime()),
    accountId: account._id,
    reference,
    sequence: (account.movement?.sequence ?? 0) + 1,
    type,
    credits,
    held: movesBalance ? 0 : Math.abs(heldChange),
    balanceAfter: account.balance + credits,
    jobId,
    ...withoutAbsentFields({ runs }),
    note,
    createdAt: now.toISOString(),
  };
}

/**
 * The error 402: the balance is too low.
 * @param message says what is missing and how to correct the call.
 * @param topUpUrl the URL for adding credits.
 */
export function insufficientCreditError(
  message: string,
  topUpUrl: string,
  details: Record<string, unknown>,
): ApiError {
  return new ApiError('insufficient_credit', message, { details: { ...details, topUpUrl } });
}

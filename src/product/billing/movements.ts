import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { newId } from '../../platform/names/ids.ts';
import { present } from '../../platform/names/present.ts';
import type { Filter } from '../../platform/stores/documents/port.ts';
import type { BillingStore, LedgerRow, Money, MovementType } from './store.ts';

export interface Movement {
  reference: string;
  type: MovementType;
  /** Signed change of the balance. */
  credits: number;
  /** Signed change of what is held. */
  heldChange: number;
  jobId?: string;
  note?: string;
  /** A reservation of the account that this movement uses up, in the same update. */
  reservationId?: string;
  /** Runs of the allowance that the same update counts, or gives back. */
  runs?: RunsChange;
  /** The plan has no limit of runs: they are counted whatever was counted meanwhile. */
  isUnlimited?: boolean;
}

interface RunsChange {
  /** `YYYY-MM`: the billing period that they belong to; one that is over is left as it is. */
  period: string;
  /** Signed change of the runs counted as used. */
  change: number;
  /** The counted runs that are beyond the allowance. */
  past: number;
}

/** A movement, or how it follows from what the account has: asked again whenever another one came first. */
type MovementPlan = Movement | ((account: Money) => Movement);

/**
 * An account as it was read before anybody could know of a reference. A movement under that reference needs no look for
 * an earlier one: only an account that has not moved since is changed by it.
 */
export interface Seen {
  account: Money | null;
  /** How often this process had moved the account by then. */
  moves: number;
}

type MovementOutcome = 'moved' | 'already' | 'insufficient';

const MOST_ATTEMPTS = 400;
const LONGEST_PAUSE_MS = 20;

/**
 * Every change of a balance. The account document carries balance, held and its last movement whole, so that one
 * conditional update is the movement; the row of the ledger follows from it:
 *
 *   1. look for this reference, unless it is a new one (`Seen`), and whether the money is there
 *   2. write out the row of the last movement (its mover may have died)
 *   3. change the account only while that is still its last movement   <- the movement
 *   4. write out this movement's row
 *
 * A crash before 3 moved nothing; one after it leaves a row that the next mover, or the next reader of the ledger,
 * writes. Step 3 fails when somebody else moved in between, and all of it is tried again: of N movers one succeeds each
 * round. Movers of one process queue, so N is the number of processes.
 */
export interface Movements {
  /** Reads an account for a movement under a reference that is still to be made up. */
  see(accountId: string): Promise<Seen>;
  /**
   * Moves credits once.
   * @param seen only for a reference that was made up since then.
   * @returns `insufficient` when what is available does not cover it; nothing moved then.
   */
  move(accountId: string, movement: MovementPlan, seen?: Seen | null): Promise<MovementOutcome>;
  /** The row of a movement that was made for a job, written out or not yet; null when there was none. */
  rowOfJob(accountId: string, reference: string): Promise<LedgerRow | null>;
  /** Writes out the row of the account's last movement, if its mover died before it did. */
  writeOut(accountId: string): Promise<void>;
}

export function createMovements(store: BillingStore, now: () => Date): Movements {
  const queues = new Map<string, Promise<unknown>>();
  /** The last row of an account that this process wrote out. */
  const written = new LRUCache<string, string>({ max: 10_000 });
  /** How often this process has moved an account. */
  const moves = new LRUCache<string, number>({ max: 10_000 });
  /** Rows that are being written out, by account. */
  const writing = new Map<string, Promise<void>>();

  /** Runs after what was queued before it for the account, whatever became of that, and after the row of it. */
  function queued<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    const turn = (queues.get(accountId) ?? Promise.resolve()).then(work, work);
    const settled = turn
      .catch(() => undefined)
      .then(() => writing.get(accountId))
      .finally(() => {
        if (queues.get(accountId) === settled) queues.delete(accountId);
      });
    queues.set(accountId, settled);
    return turn;
  }

  function movesOf(accountId: string): number {
    return moves.get(accountId) ?? 0;
  }

  async function attempt(
    accountId: string,
    plan: MovementPlan,
    seen: Seen | null,
  ): Promise<MovementOutcome | 'overtaken'> {
    const isFresh = seen !== null && seen.moves === movesOf(accountId);
    const account = isFresh ? seen.account : await store.find(accountId);
    if (account === null) return 'insufficient';
    const movement = typeof plan === 'function' ? plan(account) : plan;
    const last = account.movement;
    const { reference, jobId } = movement;
    const isMade =
      last?.reference === reference ||
      (!isFresh && (await store.rowUnder(accountId, reference, jobId !== undefined)) !== null);
    if (isMade || !hasReservation(account, movement.reservationId)) return 'already';
    const spent = spentBy(movement);
    // The balance that was read before may have been low for a moment: a refusal reads it again.
    if (spent > 0 && account.balance - account.held < spent) return isFresh ? 'overtaken' : 'insufficient';
    if (last !== null) await writeOutOnce(accountId, last);
    const row = rowOf(accountId, account, movement, now());
    const hasMoved = await store.change(
      accountId,
      {
        'movement.reference': last?.reference ?? null,
        ...covers(movement),
        ...countsIn(account, movement),
      },
      {
        $inc: {
          balance: movement.credits,
          held: movement.heldChange,
          'processing.used': usedChange(account, movement),
        },
        $set: { movement: row },
        ...(movement.reservationId === undefined
          ? {}
          : { $pull: { 'processing.reservations': { id: movement.reservationId } } }),
      },
    );
    moves.set(accountId, movesOf(accountId) + 1);
    if (!hasMoved) return 'overtaken';
    writeOutBehind(accountId, row);
    return 'moved';
  }

  /**
   * Writes out a row that nobody waits for. It has moved, whatever becomes of its row: the next mover writes the row,
   * and throws when that fails.
   */
  function writeOutBehind(accountId: string, row: LedgerRow): void {
    const underWay = writeOutOnce(accountId, row)
      .catch(() => undefined)
      .finally(() => writing.delete(accountId));
    writing.set(accountId, underWay);
  }

  /** Writes a row out, unless this process has done it. */
  async function writeOutOnce(accountId: string, row: LedgerRow): Promise<void> {
    if (written.get(accountId) === row.reference) return;
    await store.writeRow(row);
    written.set(accountId, row.reference);
  }

  return {
    async see(accountId) {
      const before = movesOf(accountId);
      return { account: await store.find(accountId), moves: before };
    },

    move(accountId, movement, seen: Seen | null = null) {
      return queued(accountId, async () => {
        for (let attempts = 1; attempts <= MOST_ATTEMPTS; attempts += 1) {
          const outcome = await attempt(accountId, movement, attempts === 1 ? seen : null);
          if (outcome !== 'overtaken') return outcome;
          await sleep(Math.random() * Math.min(attempts, LONGEST_PAUSE_MS));
        }
        throw new Error(`A movement of ${accountId} was overtaken ${MOST_ATTEMPTS} times.`);
      });
    },

    async rowOfJob(accountId, reference) {
      const last = await store.lastMovement(accountId);
      return last?.reference === reference ? last : store.rowUnder(accountId, reference, true);
    },

    async writeOut(accountId) {
      const last = await store.lastMovement(accountId);
      if (last !== null) await store.writeRow(last);
    },
  };
}

/** How much less is available after a movement: what must be there before it. */
function spentBy({ credits, heldChange }: Movement): number {
  return heldChange - credits;
}

/** The condition on the account for a movement: it has the money, and the reservation that the movement uses up. */
function covers(movement: Movement): Filter {
  const spent = spentBy(movement);
  return {
    ...(spent > 0 ? { $expr: { $gte: [{ $subtract: ['$balance', '$held'] }, spent] } } : {}),
    ...(movement.reservationId === undefined ? {} : { 'processing.reservations.id': movement.reservationId }),
  };
}

/**
 * Runs are counted against what was read: nobody may have counted, where that matters, or turned the period since then.
 */
function countsIn({ processing }: Money, { runs, isUnlimited = false }: Movement): Filter {
  if (runs === undefined) return {};
  const { period, used } = processing;
  return { 'processing.period': period, ...(runs.change > 0 && !isUnlimited && { 'processing.used': used }) };
}

function usedChange({ processing }: Money, { runs }: Movement): number {
  return runs !== undefined && runs.period === processing.period ? runs.change : 0;
}

function hasReservation(account: Money, reservationId: string | undefined): boolean {
  return (
    reservationId === undefined || account.processing.reservations.some(({ id }) => id === reservationId)
  );
}

function rowOf(
  accountId: string,
  account: Pick<Money, 'balance' | 'movement'>,
  movement: Movement,
  now: Date,
): LedgerRow {
  const movesBalance = movement.type !== 'hold' && movement.type !== 'release';
  return {
    _id: newId('led', now.getTime()),
    accountId,
    reference: movement.reference,
    sequence: (account.movement?.sequence ?? 0) + 1,
    type: movement.type,
    credits: movement.credits,
    held: movesBalance ? 0 : Math.abs(movement.heldChange),
    balanceAfter: account.balance + movement.credits,
    jobId: movement.jobId ?? null,
    ...present({ runs: movement.runs }),
    note: movement.note ?? null,
    createdAt: now.toISOString(),
  };
}

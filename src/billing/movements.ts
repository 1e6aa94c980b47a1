import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../names/ids.ts';
import { DuplicateKeyError, type Filter } from '../stores/documents/port.ts';
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
}

export type MovementOutcome = 'moved' | 'already' | 'insufficient';

const MOST_ATTEMPTS = 400;
const LONGEST_PAUSE_MS = 20;
const MONEY_FIELDS = ['balance', 'held', 'movement', 'processing'] as const;

/**
 * Every change of a balance. The account document carries balance, held and its last movement whole, so that one
 * conditional update is the movement; the row of the ledger follows from it:
 *
 *   1. look for this reference, and whether the money is there
 *   2. write out the row of the last movement (its mover may have died)
 *   3. change the account only while that is still its last movement   <- the movement
 *   4. write out this movement's row
 *
 * A crash before 3 moved nothing; one after it leaves a row that the next mover, or the next reader of the ledger,
 * writes. Step 3 fails when somebody else moved in between, and all of it is tried again: of N movers one succeeds each
 * round. Movers of one process queue, so N is the number of processes.
 */
export function createMovements(store: BillingStore, now: () => Date) {
  const queues = new Map<string, Promise<unknown>>();

  /** Runs after what was queued before it for the account, whatever became of that. */
  function queued<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    const turn = (queues.get(accountId) ?? Promise.resolve()).then(work, work);
    const settled = turn
      .catch(() => undefined)
      .finally(() => {
        if (queues.get(accountId) === settled) queues.delete(accountId);
      });
    queues.set(accountId, settled);
    return turn;
  }

  async function attempt(accountId: string, movement: Movement): Promise<MovementOutcome | 'overtaken'> {
    const account = await store.money.findOne({ _id: accountId }, { fields: MONEY_FIELDS });
    if (account === null) return 'insufficient';
    const last = account.movement;
    if (last?.reference === movement.reference || (await isWritten(accountId, movement.reference)))
      return 'already';
    if (!hasReservation(account, movement.reservationId)) return 'already';
    const spent = spentBy(movement);
    if (spent > 0 && account.balance - account.held < spent) return 'insufficient';
    if (last !== null) await writeRow(last);
    const row = rowOf(accountId, account, movement, now());
    const { modified } = await store.money.updateOne(
      { _id: accountId, 'movement.reference': last?.reference ?? null, ...covers(movement) },
      {
        $inc: { balance: movement.credits, held: movement.heldChange },
        $set: { movement: row },
        ...(movement.reservationId === undefined
          ? {}
          : { $pull: { 'processing.reservations': { id: movement.reservationId } } }),
      },
    );
    if (modified === 0) return 'overtaken';
    // It has moved, whatever becomes of its row: whoever comes next writes it, and throws when that fails.
    await writeRow(row).catch(() => undefined);
    return 'moved';
  }

  async function isWritten(accountId: string, reference: string): Promise<boolean> {
    return (await store.ledger.findOne({ accountId, reference }, { fields: ['_id'] })) !== null;
  }

  async function writeRow(row: LedgerRow): Promise<void> {
    try {
      await store.ledger.insertOne(row);
    } catch (error) {
      if (!(error instanceof DuplicateKeyError)) throw error;
    }
  }

  return {
    /**
     * Moves credits once.
     * @returns `insufficient` when what is available does not cover it; nothing moved then.
     */
    move(accountId: string, movement: Movement): Promise<MovementOutcome> {
      return queued(accountId, async () => {
        for (let attempts = 1; attempts <= MOST_ATTEMPTS; attempts += 1) {
          const outcome = await attempt(accountId, movement);
          if (outcome !== 'overtaken') return outcome;
          await sleep(Math.random() * Math.min(attempts, LONGEST_PAUSE_MS));
        }
        throw new Error(`The movement ${movement.reference} was overtaken ${MOST_ATTEMPTS} times.`);
      });
    },

    /** Writes out the row of the account's last movement, if its mover died before it did. */
    async writeOut(accountId: string): Promise<void> {
      const account = await store.money.findOne({ _id: accountId }, { fields: ['movement'] });
      if (account !== null && account.movement !== null) await writeRow(account.movement);
    },
  };
}

export type Movements = ReturnType<typeof createMovements>;

/** How much less is available after a movement: what must be there before it. */
function spentBy({ credits, heldChange }: Movement): number {
  return heldChange - credits;
}

/** What must be true of the account for a movement: the money is there, and so is the reservation that it uses up. */
function covers(movement: Movement): Filter {
  const spent = spentBy(movement);
  return {
    ...(spent > 0 ? { $expr: { $gte: [{ $subtract: ['$balance', '$held'] }, spent] } } : {}),
    ...(movement.reservationId === undefined ? {} : { 'processing.reservations.id': movement.reservationId }),
  };
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
    note: movement.note ?? null,
    createdAt: now.toISOString(),
  };
}

import { createFairQueue, type FairQueue } from '../../platform/fairness/fair-queue.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';

/**
 * Slots at a provider, shared by the processes of a host and by its accounts: one account holds all of them only while
 * nobody else was there of late. Those of calls (src/product/accounts/gate/slots.ts) are held as long as a connection,
 * which is bounded, and are refused at once; these are held as long as a provider takes, and are waited for.
 */
export interface Slots {
  /**
   * Runs the work in a slot, waiting a moment for one where few others wait; undefined when there was none. So a
   * provider that hangs keeps a bounded number of items in this process, and the others stay in the store.
   * @param owner the account whose slot it is.
   */
  run<T>(name: string, owner: string, work: () => Promise<T>): Promise<{ done: T } | undefined>;
}

/** Of a process that died; a living one renews its slots long before. */
const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** Slots of this process wake who waits here; those of other processes are looked for now and then. */
const LOOK_MS = 250;
const LOOKS = 8;
/** An account that found no slot keeps its turn until its item comes again. */
const WAIT_MS = 3_000;
/**
 * Half of the slots are kept free for others for this long after one of them asked: a call that runs is not stopped.
 */
const SEEN_MS = 60_000;

export function createSlots(options: {
  coordination: Coordination;
  hostId: string;
  processId: string;
  limit: number;
}): Slots {
  const { coordination, hostId, processId, limit } = options;
  const waiting = new Map<string, FairQueue<() => void>>();
  let counter = 0;

  function take(key: string, holder: string): Promise<boolean> {
    const times = { leaseMs: LEASE_MS, seenMs: SEEN_MS, waitMs: WAIT_MS };
    return coordination.takeShared({ key, limit, holder, ...times });
  }

  async function takeSoon(key: string, holder: string, owner: string): Promise<boolean> {
    if (await take(key, holder)) return true;
    const turns = waiting.get(key) ?? createFairQueue();
    if (turns.size >= limit && turns.sizeOf(owner) > 0) return false;
    waiting.set(key, turns);
    for (let look = 0; look < LOOKS; look++) {
      await aMoment(turns, owner);
      if (await take(key, holder)) return true;
    }
    return false;
  }

  async function giveBack(key: string, holder: string): Promise<void> {
    // One that could not be given back comes back by itself.
    await coordination.releaseSlot(key, holder).catch(() => undefined);
    const turns = waiting.get(key);
    const next = turns?.next();
    if (next === undefined) return;
    turns?.serve(next.owner, next.waiter);
    next.waiter();
  }

  return {
    async run(name, owner, work) {
      counter += 1;
      const key = `providers/${hostId}/${name}`;
      const holder = `${hostId}/${processId}/provider-${counter}/${owner}`;
      if (!(await takeSoon(key, holder, owner))) return undefined;
      // A slot that could not be renewed only lets one more call through: the call itself goes on.
      const renewal = setInterval(() => {
        coordination.renewSlot(key, holder, LEASE_MS).catch(() => undefined);
      }, RENEW_MS);
      renewal.unref();
      try {
        return { done: await work() };
      } finally {
        clearInterval(renewal);
        await giveBack(key, holder);
      }
    },
  };
}

/** Until a slot came back and it is the owner's turn, or it is time to look again. */
function aMoment(turns: FairQueue<() => void>, owner: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(leave, LOOK_MS);
  turns.add(owner, leave);
  return promise;

  function leave(): void {
    clearTimeout(timer);
    turns.remove(owner, leave);
    resolve();
  }
}

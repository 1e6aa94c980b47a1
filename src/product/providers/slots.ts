import type { ProcessParts } from '../../platform/process-parts.ts';
import { FairQueue } from '../../platform/queues.ts';

/**
 * The lease of a slot, in milliseconds. It only frees the slots of dead processes, because a living process renews its
 * leases in time.
 */
const SLOT_LEASE_MS = 30_000;
const SLOT_RENEWAL_INTERVAL_MS = 10_000;
/**
 * The interval at which a waiting call looks for slots that other processes have freed. A slot that this process frees
 * wakes the call at once.
 */
const FREE_SLOT_POLL_INTERVAL_MS = 250;
const MAX_FREE_SLOT_POLLS = 8;
/**
 * How long an account keeps its place in the queue after it found no slot, in milliseconds. Its item is tried again
 * within this time.
 */
const QUEUE_PLACE_TTL_MS = 3_000;
/**
 * How long half of the slots are reserved for other accounts after one of them has requested a slot. Running calls are
 * not stopped.
 */
const SLOT_RESERVATION_MS = 60_000;

interface ProviderSlotsOptions extends Pick<ProcessParts, 'coordination' | 'hostId' | 'processId'> {
  limit: number;
}

/**
 * The slots at a provider, which all processes of a host and all accounts share. An account that is alone gets all
 * slots but one. If another account has used the provider recently, an account gets at most half of them. A call waits
 * for a slot, because providers are slow. This differs from the slots of an account
 * (src/product/accounts/gate/slots.ts): a synchronous call without a slot is refused.
 */
export class ProviderSlots {
  readonly #options: ProviderSlotsOptions;
  readonly #waiting = new Map<string, FairQueue<() => void>>();
  #callCount = 0;

  constructor(options: ProviderSlotsOptions) {
    this.#options = options;
  }

  /**
   * Runs work in a slot. If no slot is free and few calls wait, the call waits a short time for one. Undefined if it
   * got no slot: the item then goes back to the store, so that a provider that hangs occupies only a limited number of
   * items in this process.
   * @param owner the account that holds the slot.
   */
  async run<T>(name: string, owner: string, work: () => Promise<T>): Promise<T | undefined> {
    this.#callCount += 1;
    const key = `providers/${this.#options.hostId}/${name}`;
    const holder = `${this.#options.hostId}/${this.#options.processId}/provider-${this.#callCount}/${owner}`;
    if (!(await this.#take(key, holder, owner))) return undefined;
    // If a slot cannot be renewed, the call continues. At worst, one call more than there are slots runs.
    const renewal = setInterval(() => {
      this.#options.coordination.renewSlot(key, holder, SLOT_LEASE_MS).catch(() => undefined);
    }, SLOT_RENEWAL_INTERVAL_MS);
    renewal.unref();
    try {
      return await work();
    } finally {
      clearInterval(renewal);
      await this.#giveBack(key, holder);
    }
  }

  async #take(key: string, holder: string, owner: string): Promise<boolean> {
    const request = {
      key,
      limit: this.#options.limit,
      holder,
      leaseMs: SLOT_LEASE_MS,
      seenMs: SLOT_RESERVATION_MS,
      waitMs: QUEUE_PLACE_TTL_MS,
    };
    if (await this.#options.coordination.takeShared(request)) return true;
    const queue = this.#waiting.get(key) ?? new FairQueue();
    if (queue.size >= this.#options.limit && queue.sizeOf(owner) > 0) return false;
    this.#waiting.set(key, queue);
    for (let poll = 0; poll < MAX_FREE_SLOT_POLLS; poll++) {
      await waitForTurnOrPoll(queue, owner);
      if (await this.#options.coordination.takeShared(request)) return true;
    }
    return false;
  }

  async #giveBack(key: string, holder: string): Promise<void> {
    // A slot that cannot be released is freed when its lease ends.
    await this.#options.coordination.releaseSlot(key, holder).catch(() => undefined);
    const queue = this.#waiting.get(key);
    const next = queue?.next();
    if (next === undefined) return;
    queue?.serve(next.owner, next.waiter);
    next.waiter();
  }
}

/** Waits until a slot is freed and it is the turn of the owner, or until the next poll. */
function waitForTurnOrPoll(queue: FairQueue<() => void>, owner: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(leave, FREE_SLOT_POLL_INTERVAL_MS);
  queue.add(owner, leave);
  return promise;

  function leave(): void {
    clearTimeout(timer);
    queue.remove(owner, leave);
    resolve();
  }
}

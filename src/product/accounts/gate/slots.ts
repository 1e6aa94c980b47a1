import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import type {
  AdmissionAnswer,
  AdmissionRequest,
  Coordination,
  HeldSlotKey,
  LeasedSlotRequest,
} from '../../../platform/stores/coordination/port.ts';
import { retryUntilLeaseEnds } from '../../../platform/stores/outages.ts';

/** The longest time that a synchronous call can take, including its upload. */
const MAX_CALL_MS = 120_000;
/**
 * How long further calls may reuse a granted slot before the coordination store must grant it again, in milliseconds.
 */
const MAX_SLOT_REUSE_MS = 30_000;
/** The lease of a slot. A call keeps its slot until it ends; the lease only frees the slots of a dead process. */
const SLOT_LEASE_MS = MAX_CALL_MS + MAX_SLOT_REUSE_MS;
/** The interval at which a slot is renewed if its call may take longer than the lease. */
const SLOT_RENEWAL_INTERVAL_MS = 60_000;
/** The pauses before the second and the third attempt to take a slot. */
const SLOT_RETRY_PAUSES_MS = [10, 30];
/**
 * How long a returned slot waits before a query of its own releases it, in milliseconds. Until then, the next call of
 * the account in this process may take the slot over, or another query may release it as well. A query costs 0.2 to
 * 0.45 ms of CPU; for comparison, a transform to 200 px takes 2 ms. The wait ends before the last retry of a call that
 * found no slot.
 */
const RETURNED_SLOT_WAIT_MS = 20;

/**
 * The kinds of slots of an account: for synchronous image calls (`calls`), for calls that wait for a job (`waits`), for
 * downloads of many files, for those downloads that use a link, and for responses of megabytes of JSON (`longReads`).
 */
export type CallSlotKind = 'calls' | 'waits' | 'downloads' | 'linkDownloads' | 'longReads';

/** A slot of an account. Several calls may use it one after the other before it is released. */
interface CallSlot extends LeasedSlotRequest {
  /** Until when further calls may reuse the slot, in elapsed milliseconds; null before it was granted. */
  reusableUntilMs: number | null;
}

/** Requests the slots of this process's calls, holds them until the work has ended, and releases them. */
export class CallSlots {
  readonly #coordination: Coordination;
  readonly #holder: string;
  readonly #clock: Pick<Clock, 'elapsedMs' | 'after'>;
  /**
   * The slots of each request, and the work that must end before the slots are returned. A download by a link takes two
   * slots.
   */
  readonly #heldSlots = new WeakMap<FastifyRequest, { slots: CallSlot[]; work: Promise<unknown> }>();
  /** Slots that calls have returned and that are not released yet, oldest first. */
  #returnedSlots: { slot: CallSlot; sinceMs: number }[] = [];
  #isReleaseScheduled = false;
  #slotCount = 0;

  /** @param holder the holder of all slots of this process: `<hostId>/<processId>`. */
  constructor(
    coordination: Coordination,
    holder: string,
    clock: Pick<Clock, 'elapsedMs' | 'after'> = systemClock,
  ) {
    this.#coordination = coordination;
    this.#holder = holder;
    this.#clock = clock;
  }

  /** Sends an admission request. The request also carries the releases of returned slots, which saves round trips. */
  async admit(terms: AdmissionRequest, slot: CallSlot | null = null): Promise<AdmissionAnswer> {
    const returned = this.#returnedSlots.map(({ slot: { key, holder } }) => ({ key, holder }));
    this.#returnedSlots = [];
    const full = returned.length === 0 ? terms : { ...terms, returned };
    try {
      return await (slot === null ? this.#coordination.admit(full) : this.#admitWith(slot, full));
    } catch (error) {
      for (const given of returned) this.#release(given);
      // The slot may have been granted although the response was lost, so it is released.
      if (slot !== null) this.#release(slot);
      throw error;
    }
  }

  /**
   * Tries again to take a slot. A client may receive its response and send its next call through another process before
   * the slot of its previous call is free.
   */
  async retryTake(slot: CallSlot): Promise<boolean> {
    for (const pauseMs of SLOT_RETRY_PAUSES_MS) {
      await sleep(pauseMs);
      const answer = await this.#admitWith(slot, {});
      if (answer.slot) return true;
    }
    return false;
  }

  /** A slot that another call of the account has just returned, or a new slot that must be requested. */
  reuseOrCreateSlot(key: string, limit: number): CallSlot {
    const at = this.#returnedSlots.findLastIndex(({ slot }) => slot.key === key);
    const [returned] = at === -1 ? [] : this.#returnedSlots.splice(at, 1);
    if (returned !== undefined) return returned.slot;
    this.#slotCount += 1;
    return {
      key,
      holder: `${this.#holder}/${this.#slotCount}`,
      limit,
      leaseMs: SLOT_LEASE_MS,
      reusableUntilMs: null,
    };
  }

  /** Whether the call may use the slot without a query to the coordination store. */
  isReusable({ reusableUntilMs }: CallSlot): boolean {
    return reusableUntilMs !== null && this.#clock.elapsedMs() < reusableUntilMs;
  }

  /** Returns the slot when the connection has finished the call and its work has ended. */
  hold(request: FastifyRequest, reply: FastifyReply, slot: CallSlot): void {
    const held = this.#heldSlots.get(request);
    if (held === undefined) this.#heldSlots.set(request, { slots: [slot], work: Promise.resolve() });
    else held.slots.push(slot);
    // If the client disconnected while the slot was being requested, no close event follows.
    if (reply.raw.destroyed) this.end(request);
    else reply.raw.once('close', () => this.end(request));
  }

  /** Returns the slots of a request when its work has ended. A second call does nothing. */
  end(request: FastifyRequest): void {
    const held = this.#heldSlots.get(request);
    if (held === undefined) return;
    this.#heldSlots.delete(request);
    const giveBack = () => {
      for (const slot of held.slots) this.giveBack(slot);
    };
    held.work.then(giveBack, giveBack);
  }

  /**
   * Holds the slot of a call that may take longer than the lease, such as a download. The slot is renewed until the
   * call ends.
   */
  holdLong(request: FastifyRequest, reply: FastifyReply, slot: CallSlot): void {
    this.hold(request, reply, slot);
    if (!reply.raw.destroyed) this.#renewUntilClosed(reply, slot);
  }

  /** Returns the slot of a call that was refused, if it had one. */
  giveBack(slot: CallSlot): void {
    if (slot.reusableUntilMs === null) return;
    this.#returnedSlots.push({ slot, sinceMs: this.#clock.elapsedMs() });
    if (!this.#isReleaseScheduled) this.#scheduleRelease(RETURNED_SLOT_WAIT_MS);
  }

  /** Keeps the slot of a request until `work` has ended, though the response may be sent earlier. */
  keepUntil(request: FastifyRequest, work: Promise<unknown>): void {
    const held = this.#heldSlots.get(request);
    if (held !== undefined) held.work = work;
  }

  #scheduleRelease(delayMs: number): void {
    this.#isReleaseScheduled = true;
    this.#clock.after(delayMs, () => this.#releaseDue());
  }

  /** Releases the returned slots that no other call has taken over within RETURNED_SLOT_WAIT_MS. */
  #releaseDue(): void {
    this.#isReleaseScheduled = false;
    const dueMs = this.#clock.elapsedMs() - RETURNED_SLOT_WAIT_MS;
    for (const { slot } of this.#returnedSlots.filter(({ sinceMs }) => sinceMs <= dueMs)) this.#release(slot);
    this.#returnedSlots = this.#returnedSlots.filter(({ sinceMs }) => sinceMs > dueMs);
    const [oldest] = this.#returnedSlots;
    if (oldest !== undefined) this.#scheduleRelease(oldest.sinceMs - dueMs);
  }

  /**
   * Releases a slot by a query of its own, which is retried until the lease ends. A final failure is ignored, because
   * the end of the lease frees the slot as well.
   */
  #release({ key, holder }: HeldSlotKey): void {
    retryUntilLeaseEnds(() => this.#coordination.releaseSlot(key, holder), SLOT_LEASE_MS).catch(
      () => undefined,
    );
  }

  /** Requests a slot. The time for which it may be reused is counted from the moment before the request is sent. */
  async #admitWith(slot: CallSlot, terms: AdmissionRequest): Promise<AdmissionAnswer> {
    const reusableUntilMs = this.#clock.elapsedMs() + MAX_SLOT_REUSE_MS;
    const { key, holder, limit, leaseMs } = slot;
    const answer = await this.#coordination.admit({ ...terms, slot: { key, holder, limit, leaseMs } });
    if (answer.slot) slot.reusableUntilMs = reusableUntilMs;
    return answer;
  }

  /** Renews a slot until its connection has closed. After a failure, the next renewal follows as usual. */
  #renewUntilClosed(reply: FastifyReply, { key, holder, leaseMs }: CallSlot): void {
    let cancel = () => {};
    const renewLater = (): void => {
      cancel = this.#clock.after(SLOT_RENEWAL_INTERVAL_MS, () => {
        this.#coordination.renewSlot(key, holder, leaseMs).catch(() => undefined);
        renewLater();
      });
    };
    renewLater();
    reply.raw.once('close', () => cancel());
  }
}

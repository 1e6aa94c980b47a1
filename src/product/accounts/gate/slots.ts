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

/** Longer than any synchronous call can take, upload included. */
const MAX_CALL_MS = 120_000;
/** How long a slot may pass from call to call before coordination must grant it again. */
const KEPT_MS = 30_000;
/** The lease of a slot. A call keeps its slot until it ends; the lease only frees the slots of a dead process. */
const SLOT_LEASE_MS = MAX_CALL_MS + KEPT_MS;
/** How often the slot of a call that may take longer than its lease is renewed. */
const RENEW_MS = 60_000;
/** Pauses before each further attempt to take a slot. */
const RETRY_PAUSES_MS = [10, 30];
/**
 * How long a returned slot waits for the account's next call in this process, which takes it over, or for another
 * request to coordination that can carry its release. A separate round trip costs 0.2 to 0.45 ms of CPU, while a
 * transform to 200 px takes 2 ms. The slot is released before the last retry of a call that found none.
 */
const PIGGYBACK_MS = 20;

/**
 * The kinds of slots of an account: for synchronous image calls (`calls`), for calls that wait for a job (`waits`), for
 * downloads of many files, and for those downloads that use a link.
 */
export type CallSlotKind = 'calls' | 'waits' | 'downloads' | 'linkDownloads';

/** A slot that serves calls in sequence. */
interface CallSlot extends LeasedSlotRequest {
  /**
   * Until when another call may take over the slot, in elapsed milliseconds; null before coordination has granted it.
   */
  keptUntilMs: number | null;
}

/** The slots of this process's calls. They are requested, held until the work has ended, and released. */
export class CallSlots {
  readonly #coordination: Coordination;
  readonly #holder: string;
  readonly #clock: Pick<Clock, 'elapsedMs' | 'after'>;
  /** The slots of each request, and the work that must end before they are released. A link takes two slots. */
  readonly #held = new WeakMap<FastifyRequest, { slots: CallSlot[]; work: Promise<unknown> }>();
  /** Returned slots, the latest last. */
  #returning: { slot: CallSlot; sinceMs: number }[] = [];
  #isTimed = false;
  #holders = 0;

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

  /**
   * Sends an admission request. It also carries the releases of returned slots, which so cost no round trip of their
   * own.
   */
  async admit(terms: AdmissionRequest, slot: CallSlot | null = null): Promise<AdmissionAnswer> {
    const returned = this.#takeReturning();
    const full = returned.length === 0 ? terms : { ...terms, returned };
    try {
      return await (slot === null ? this.#coordination.admit(full) : this.#admitWith(slot, full));
    } catch (error) {
      for (const given of returned) this.#release(given);
      // The slot may have been taken, so it is released.
      if (slot !== null) this.#release(slot);
      throw error;
    }
  }

  /**
   * Tries again to take a slot that is about to be released. A client may receive its response and send its next call
   * through another process before the slot of its previous call is free.
   */
  async retryTake(slot: CallSlot): Promise<boolean> {
    for (const pauseMs of RETRY_PAUSES_MS) {
      await sleep(pauseMs);
      const answer = await this.#admitWith(slot, {});
      if (answer.slot) return true;
    }
    return false;
  }

  /** A slot that another call of the account has just returned, or a new slot that must be requested. */
  slotFor(key: string, limit: number): CallSlot {
    const at = this.#returning.findLastIndex(({ slot }) => slot.key === key);
    const [returned] = at === -1 ? [] : this.#returning.splice(at, 1);
    if (returned !== undefined) return returned.slot;
    this.#holders += 1;
    return {
      key,
      holder: `${this.#holder}/${this.#holders}`,
      limit,
      leaseMs: SLOT_LEASE_MS,
      keptUntilMs: null,
    };
  }

  /** Whether the call may use the slot without asking coordination. */
  isHeld({ keptUntilMs }: CallSlot): boolean {
    return keptUntilMs !== null && this.#clock.elapsedMs() < keptUntilMs;
  }

  /** Returns the slot when the connection has finished the call and its work has ended. */
  hold(request: FastifyRequest, reply: FastifyReply, slot: CallSlot): void {
    const held = this.#held.get(request);
    if (held === undefined) this.#held.set(request, { slots: [slot], work: Promise.resolve() });
    else held.slots.push(slot);
    // A client that disconnected while the slot was being requested triggers no close event any more.
    if (reply.raw.destroyed) this.end(request);
    else reply.raw.once('close', () => this.end(request));
  }

  /** Returns the slots of a request when its work has ended. A second call does nothing. */
  end(request: FastifyRequest): void {
    const held = this.#held.get(request);
    if (held === undefined) return;
    this.#held.delete(request);
    const giveBack = () => {
      for (const slot of held.slots) this.giveBack(slot);
    };
    held.work.then(giveBack, giveBack);
  }

  /**
   * Does the same as `hold` for a call that may take longer than the lease, such as a download: the slot is renewed
   * meanwhile.
   */
  holdLong(request: FastifyRequest, reply: FastifyReply, slot: CallSlot): void {
    this.hold(request, reply, slot);
    if (!reply.raw.destroyed) this.#renewUntilClosed(reply, slot);
  }

  /** Returns the slot of a call that was refused, if it had one. */
  giveBack(slot: CallSlot): void {
    if (slot.keptUntilMs === null) return;
    this.#returning.push({ slot, sinceMs: this.#clock.elapsedMs() });
    if (!this.#isTimed) this.#releaseIn(PIGGYBACK_MS);
  }

  /** Keeps the slot of a request until `work` has ended, though the response may be sent earlier. */
  keepUntil(request: FastifyRequest, work: Promise<unknown>): void {
    const held = this.#held.get(request);
    if (held !== undefined) held.work = work;
  }

  #releaseIn(delayMs: number): void {
    this.#isTimed = true;
    this.#clock.after(delayMs, () => this.#releaseDue());
  }

  /** Releases the returned slots that no call took over and no request carried. */
  #releaseDue(): void {
    this.#isTimed = false;
    const dueMs = this.#clock.elapsedMs() - PIGGYBACK_MS;
    for (const { slot } of this.#returning.filter(({ sinceMs }) => sinceMs <= dueMs)) this.#release(slot);
    this.#returning = this.#returning.filter(({ sinceMs }) => sinceMs > dueMs);
    const [oldest] = this.#returning;
    if (oldest !== undefined) this.#releaseIn(oldest.sinceMs - dueMs);
  }

  #takeReturning(): HeldSlotKey[] {
    const taken = this.#returning.map(({ slot: { key, holder } }) => ({ key, holder }));
    this.#returning = [];
    return taken;
  }

  /**
   * Releases a slot in its own request, retried until the lease ends. A final failure is ignored, because the end of
   * the lease frees the slot as well.
   */
  #release({ key, holder }: HeldSlotKey): void {
    retryUntilLeaseEnds(() => this.#coordination.releaseSlot(key, holder), SLOT_LEASE_MS).catch(
      () => undefined,
    );
  }

  /** Requests a slot. The time for which the slot may pass from call to call starts before the request. */
  async #admitWith(slot: CallSlot, terms: AdmissionRequest): Promise<AdmissionAnswer> {
    const keptUntilMs = this.#clock.elapsedMs() + KEPT_MS;
    const { key, holder, limit, leaseMs } = slot;
    const answer = await this.#coordination.admit({ ...terms, slot: { key, holder, limit, leaseMs } });
    if (answer.slot) slot.keptUntilMs = keptUntilMs;
    return answer;
  }

  /** Renews a slot until its connection has closed. After a failure, the next renewal follows as usual. */
  #renewUntilClosed(reply: FastifyReply, { key, holder, leaseMs }: CallSlot): void {
    let cancel = () => {};
    const renewLater = (): void => {
      cancel = this.#clock.after(RENEW_MS, () => {
        this.#coordination.renewSlot(key, holder, leaseMs).catch(() => undefined);
        renewLater();
      });
    };
    renewLater();
    reply.raw.once('close', () => cancel());
  }
}

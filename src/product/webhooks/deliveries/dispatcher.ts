import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { EventLog } from '../../../platform/tracing/log.ts';
import { MAX_ATTEMPT_MS } from './attempt.ts';
import type { RunEndpointWorker } from './endpoint-worker.ts';
import { accountAndEndpointOf, DISPATCHER_WAKE_CHANNEL, ENDPOINT_SCHEDULE_KEY } from './schedule.ts';
import type { AttemptSlots, WorkerSlot } from './slots.ts';

/** The lease of an endpoint. An attempt starts only if the rest of the lease covers the longest attempt. */
const LEASE_MS = 30_000;
const HEARTBEAT_MS = 5_000;
/** The longest pause between two readings of the schedule, in case a wake-up is lost. */
const MAX_PAUSE_MS = 1_000;
/** The pause where nothing is scheduled at all, so that an idle service is left alone. */
const IDLE_PAUSE_MS = 5_000;
/** The most claims of one reading, so that the processes of a host share the due endpoints. */
const MAX_CLAIMS = 64;
/** The delay of a due endpoint that finds no slot. A slow endpoint waits longer, because there may be many. */
const POSTPONED_MS = 500;
const SLOW_POSTPONED_MS = 2_000;
const AFTER_FAULT_MS = 5_000;

interface DispatcherOptions {
  coordination: Coordination;
  worker: RunEndpointWorker;
  /** The prefix of every holder name in this process. It identifies the endpoints that a dead process held. */
  holderPrefix: string;
  slots: AttemptSlots;
  log: EventLog;
}

interface EndpointClaim {
  holder: string;
  /** When the lease ends, on the monotonic clock of this process. */
  endsMs: number;
  /** Whether the claim has not been used yet. The first attempt needs no renewal. */
  isFresh: boolean;
}

/** Claims due endpoints and runs their workers: many at once, but each endpoint only in one process at a time. */
export class WebhookDispatcher {
  readonly #options: DispatcherOptions;
  readonly #claimed = new Map<string, EndpointClaim>();
  readonly #running = new Set<Promise<void>>();
  #claims = 0;
  #isStopped = false;
  #isReading = false;
  #isWoken = false;
  #pause: NodeJS.Timeout | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #unsubscribe: () => void = () => undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#unsubscribe = await this.#options.coordination.subscribe(DISPATCHER_WAKE_CHANNEL, () =>
      this.#wake(),
    );
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT_MS);
    this.#heartbeat.unref();
    this.#wake();
  }

  /** Stops claiming. Resolves when the running attempts have ended and their endpoints are given back. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#pause);
    this.#unsubscribe();
    await Promise.all(this.#running);
    clearInterval(this.#heartbeat);
    // Other processes take over the endpoints that were given back; if they miss the message, they look within
    // seconds.
    await this.#options.coordination.publish(DISPATCHER_WAKE_CHANNEL, '').catch(() => undefined);
  }

  /** Reads the schedule now, or again after the current reading. */
  #wake(): void {
    this.#isWoken = true;
    if (!this.#isReading && !this.#isStopped) void this.#claimWhileDue();
  }

  async #claimWhileDue(): Promise<void> {
    this.#isReading = true;
    clearTimeout(this.#pause);
    let pauseMs = MAX_PAUSE_MS;
    while (this.#isWoken && !this.#isStopped && this.#options.slots.free > 0) {
      this.#isWoken = false;
      pauseMs = await this.#claimDue();
    }
    this.#isReading = false;
    if (this.#isStopped) return;
    this.#pause = setTimeout(() => this.#wake(), pauseMs);
    this.#pause.unref();
  }

  /** Claims due endpoints that have a slot. @returns milliseconds until the next reading. */
  async #claimDue(): Promise<number> {
    this.#claims += 1;
    const holder = `${this.#options.holderPrefix}${this.#claims}`;
    const limit = Math.min(this.#options.slots.free, MAX_CLAIMS);
    const endsMs = performance.now() + LEASE_MS;
    try {
      const { members, nextInMs } = await this.#options.coordination.claimDue(
        ENDPOINT_SCHEDULE_KEY,
        limit,
        LEASE_MS,
        holder,
      );
      for (const member of members) this.#run(member, { holder, endsMs, isFresh: true });
      this.#isWoken ||= nextInMs === 0;
      return nextInMs === null ? IDLE_PAUSE_MS : Math.min(nextInMs, MAX_PAUSE_MS);
    } catch (error) {
      this.#options.log.warn({ err: error }, 'The schedule of webhooks cannot be read; it is tried again');
      return MAX_PAUSE_MS;
    }
  }

  #run(member: string, claim: EndpointClaim): void {
    const slot = this.#claimed.has(member)
      ? null
      : this.#options.slots.begin(accountAndEndpointOf(member)[0], member);
    if (slot === null) {
      // No slot is free for the account or for slow endpoints, or this process still works on the endpoint under a lost
      // lease.
      void this.#giveBack(
        member,
        claim,
        this.#options.slots.isSlow(member) ? SLOW_POSTPONED_MS : POSTPONED_MS,
      );
      return;
    }
    this.#claimed.set(member, claim);
    const work = this.#turn(member, claim, slot).finally(() => this.#running.delete(work));
    this.#running.add(work);
  }

  async #turn(member: string, claim: EndpointClaim, slot: WorkerSlot): Promise<void> {
    const afterMs = await this.#options
      .worker(...accountAndEndpointOf(member), {
        mayGoOn: async () => slot.mayGoOn() && (await this.#mayGoOn(member, claim)),
        attempted: slot.attempted,
      })
      .catch((error: unknown) => {
        this.#options.log.warn({ err: error }, 'The worker of a webhook endpoint stopped; it goes on later');
        return AFTER_FAULT_MS;
      });
    // This comes first: once the endpoint is given back, another process may claim it, so it must not be renewed.
    this.#claimed.delete(member);
    slot.release();
    await this.#giveBack(member, claim, afterMs);
  }

  async #giveBack(member: string, { holder }: EndpointClaim, afterMs: number | null): Promise<void> {
    const wasFull = this.#options.slots.free <= 1;
    try {
      const dueInMs = await this.#options.coordination.settleDue(
        ENDPOINT_SCHEDULE_KEY,
        member,
        holder,
        afterMs,
      );
      // A delivery was queued for the endpoint meanwhile, or other endpoints wait for a slot.
      if (dueInMs === 0 || wasFull) this.#wake();
    } catch (error) {
      this.#options.log.warn(
        { err: error },
        'A webhook endpoint was not given back; its lease ends by itself',
      );
    }
  }

  /**
   * Decides before each attempt whether the worker continues. From the second attempt on it renews the claim, so that
   * after a loss of the schedule two processes never continue with one endpoint: at most the current attempt is
   * repeated.
   */
  async #mayGoOn(member: string, claim: EndpointClaim): Promise<boolean> {
    if (!claim.isFresh) await this.#renew(member, claim);
    claim.isFresh = false;
    return !this.#isStopped && claim.endsMs - performance.now() >= MAX_ATTEMPT_MS;
  }

  async #renew(member: string, claim: EndpointClaim): Promise<void> {
    const endsMs = performance.now() + LEASE_MS;
    const isHeld = await this.#options.coordination.renewDue(
      ENDPOINT_SCHEDULE_KEY,
      member,
      claim.holder,
      LEASE_MS,
    );
    claim.endsMs = isHeld ? endsMs : 0;
  }

  /** Extends the leases of running workers, and claims their endpoints again if the schedule was lost. */
  #beat(): void {
    for (const [member, claim] of this.#claimed) {
      // A failed renewal leaves the lease unchanged, and the worker ends in time.
      this.#renew(member, claim).catch(() => undefined);
    }
  }
}

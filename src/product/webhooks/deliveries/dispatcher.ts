import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { EventLog } from '../../../platform/tracing/tracing.ts';
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

/** An endpoint that this process has claimed. */
interface EndpointClaim {
  /** Its member of the schedule. */
  member: string;
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
      const { coordination } = this.#options;
      const due = await coordination.claimDue(ENDPOINT_SCHEDULE_KEY, limit, LEASE_MS, holder);
      const { members, nextInMs } = due;
      for (const member of members) this.#serve({ member, holder, endsMs, isFresh: true });
      this.#isWoken ||= nextInMs === 0;
      return nextInMs === null ? IDLE_PAUSE_MS : Math.min(nextInMs, MAX_PAUSE_MS);
    } catch (error) {
      this.#options.log.warn({ err: error }, 'The schedule of webhooks cannot be read; it is tried again');
      return MAX_PAUSE_MS;
    }
  }

  /** Runs the worker of a claimed endpoint, or gives the endpoint back if it finds no slot. */
  #serve(claim: EndpointClaim): void {
    const { slots } = this.#options;
    const { member } = claim;
    const [accountId] = accountAndEndpointOf(member);
    const slot = this.#claimed.has(member) ? null : slots.begin(accountId, member);
    if (slot === null) {
      // No slot is free for the account or for slow endpoints, or this process still works on the endpoint under a lost
      // lease.
      void this.#giveBack(claim, slots.isSlow(member) ? SLOW_POSTPONED_MS : POSTPONED_MS);
      return;
    }
    this.#claimed.set(member, claim);
    const work = this.#turn(claim, slot).finally(() => this.#running.delete(work));
    this.#running.add(work);
  }

  async #turn(claim: EndpointClaim, slot: WorkerSlot): Promise<void> {
    const afterMs = await this.#options
      .worker(...accountAndEndpointOf(claim.member), {
        mayGoOn: async () => slot.mayGoOn() && (await this.#mayGoOn(claim)),
        attempted: slot.attempted,
      })
      .catch((error: unknown) => {
        this.#options.log.warn({ err: error }, 'The worker of a webhook endpoint stopped; it goes on later');
        return AFTER_FAULT_MS;
      });
    // This comes first: once the endpoint is given back, another process may claim it, so it must not be renewed.
    this.#claimed.delete(claim.member);
    slot.release();
    await this.#giveBack(claim, afterMs);
  }

  /** Gives an endpoint back to the schedule, where it is due again after some milliseconds; null: never. */
  async #giveBack({ member, holder }: EndpointClaim, afterMs: number | null): Promise<void> {
    const { coordination, slots } = this.#options;
    const wasFull = slots.free <= 1;
    try {
      const dueInMs = await coordination.settleDue(ENDPOINT_SCHEDULE_KEY, member, holder, afterMs);
      // A delivery was queued for the endpoint meanwhile, or other endpoints wait for a slot.
      if (dueInMs === 0 || wasFull) this.#wake();
    } catch (error) {
      const message = 'A webhook endpoint was not given back; its lease ends by itself';
      this.#options.log.warn({ err: error }, message);
    }
  }

  /**
   * Decides before each attempt whether the worker continues. From the second attempt on it renews the claim, so that
   * after a loss of the schedule two processes never continue with one endpoint: at most the current attempt is
   * repeated.
   */
  async #mayGoOn(claim: EndpointClaim): Promise<boolean> {
    if (!claim.isFresh) await this.#renew(claim);
    claim.isFresh = false;
    return !this.#isStopped && claim.endsMs - performance.now() >= MAX_ATTEMPT_MS;
  }

  async #renew(claim: EndpointClaim): Promise<void> {
    const { member, holder } = claim;
    const endsMs = performance.now() + LEASE_MS;
    const { coordination } = this.#options;
    const isHeld = await coordination.renewDue(ENDPOINT_SCHEDULE_KEY, member, holder, LEASE_MS);
    claim.endsMs = isHeld ? endsMs : 0;
  }

  /** Extends the leases of running workers, and claims their endpoints again if the schedule was lost. */
  #beat(): void {
    for (const claim of this.#claimed.values()) {
      // A failed renewal leaves the lease unchanged, and the worker ends in time.
      this.#renew(claim).catch(() => undefined);
    }
  }
}

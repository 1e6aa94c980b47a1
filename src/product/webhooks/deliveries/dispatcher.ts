import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { EventLog } from '../../../platform/tracing/tracing.ts';
import { MAX_ATTEMPT_MS } from './attempt.ts';
import type { RunEndpointWorker } from './endpoint-worker.ts';
import { DISPATCHER_WAKE_CHANNEL, ENDPOINT_SCHEDULE_KEY, parseScheduleMember } from './schedule.ts';
import type { AttemptSlots, WorkerSlot } from './slots.ts';

/**
 * The lease of an endpoint, in milliseconds. An attempt starts only if the remaining lease is longer than the longest
 * attempt.
 */
const ENDPOINT_LEASE_MS = 30_000;
const LEASE_RENEWAL_INTERVAL_MS = 5_000;
/**
 * The longest pause between two reads of a schedule with endpoints. It limits the delay of a delivery whose wake-up was
 * lost.
 */
const MAX_SCHEDULE_READ_PAUSE_MS = 1_000;
/** The pause between two reads of an empty schedule. */
const EMPTY_SCHEDULE_PAUSE_MS = 5_000;
/**
 * The maximum number of endpoints that one read claims, so that all processes of a host get some of the due endpoints.
 */
const MAX_CLAIMS_PER_READ = 64;
/**
 * How long a due endpoint is postponed if there is no slot for it, in milliseconds. There may be many slow endpoints,
 * so they are postponed for longer.
 */
const ENDPOINT_POSTPONE_MS = 500;
const SLOW_ENDPOINT_POSTPONE_MS = 2_000;
const FAULT_PAUSE_MS = 5_000;

interface DispatcherOptions {
  coordination: Coordination;
  runEndpointWorker: RunEndpointWorker;
  /** The prefix of the holder names of this process. After its death, others find its endpoints by this prefix. */
  holderPrefix: string;
  slots: AttemptSlots;
  log: EventLog;
}

interface EndpointClaim {
  /** The name of the endpoint within the sorted set of the schedule. */
  member: string;
  holder: string;
  /** When the lease ends, on the monotonic clock of this process. */
  endsMs: number;
  /** Whether no attempt was made since the claim. The claim need not be renewed before the first attempt. */
  isFresh: boolean;
}

/**
 * Claims due endpoints and runs their workers. Many workers run at once, but at most one process works on an endpoint.
 */
export class WebhookDispatcher {
  readonly #options: DispatcherOptions;
  readonly #claims = new Map<string, EndpointClaim>();
  readonly #runningWorkers = new Set<Promise<void>>();
  #claimCount = 0;
  #isStopped = false;
  #isReading = false;
  #mustReadAgain = false;
  #readTimer: NodeJS.Timeout | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #unsubscribe: () => void = () => undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#unsubscribe = await this.#options.coordination.subscribe(DISPATCHER_WAKE_CHANNEL, () =>
      this.#wake(),
    );
    // If the schedule was lost, a renewal claims the endpoint again. If a renewal fails, the lease is not extended, and
    // the worker stops before the lease ends.
    this.#heartbeat = setInterval(() => {
      for (const claim of this.#claims.values()) this.#renewClaim(claim).catch(() => undefined);
    }, LEASE_RENEWAL_INTERVAL_MS);
    this.#heartbeat.unref();
    this.#wake();
  }

  /** Stops claiming. Resolves when the running attempts have ended and the endpoints are given back. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#readTimer);
    this.#unsubscribe();
    await Promise.all(this.#runningWorkers);
    clearInterval(this.#heartbeat);
    // The message makes other processes claim the endpoints. If it is lost, they find the endpoints within seconds.
    await this.#options.coordination.publish(DISPATCHER_WAKE_CHANNEL, '').catch(() => undefined);
  }

  /** Reads the schedule now. If a read is running, another one follows it. */
  #wake(): void {
    this.#mustReadAgain = true;
    if (!this.#isReading && !this.#isStopped) void this.#claimAllDue();
  }

  async #claimAllDue(): Promise<void> {
    this.#isReading = true;
    clearTimeout(this.#readTimer);
    let pauseMs = MAX_SCHEDULE_READ_PAUSE_MS;
    while (this.#mustReadAgain && !this.#isStopped && this.#options.slots.free > 0) {
      this.#mustReadAgain = false;
      pauseMs = await this.#claimDue();
    }
    this.#isReading = false;
    if (this.#isStopped) return;
    this.#readTimer = setTimeout(() => this.#wake(), pauseMs);
    this.#readTimer.unref();
  }

  /** Claims due endpoints for which there is a slot. Returns the milliseconds until the next read. */
  async #claimDue(): Promise<number> {
    this.#claimCount += 1;
    const holder = `${this.#options.holderPrefix}${this.#claimCount}`;
    const limit = Math.min(this.#options.slots.free, MAX_CLAIMS_PER_READ);
    const endsMs = performance.now() + ENDPOINT_LEASE_MS;
    try {
      const { coordination } = this.#options;
      const due = await coordination.claimDue(ENDPOINT_SCHEDULE_KEY, limit, ENDPOINT_LEASE_MS, holder);
      const { members, nextInMs } = due;
      for (const member of members) this.#startWorker({ member, holder, endsMs, isFresh: true });
      this.#mustReadAgain ||= nextInMs === 0;
      return nextInMs === null ? EMPTY_SCHEDULE_PAUSE_MS : Math.min(nextInMs, MAX_SCHEDULE_READ_PAUSE_MS);
    } catch (error) {
      this.#options.log.warn({ err: error }, 'The schedule of webhooks cannot be read; it is tried again');
      return MAX_SCHEDULE_READ_PAUSE_MS;
    }
  }

  /** Runs the worker of a claimed endpoint. If there is no slot for it, gives the endpoint back. */
  #startWorker(claim: EndpointClaim): void {
    const { slots } = this.#options;
    const { member } = claim;
    const [accountId] = parseScheduleMember(member);
    const slot = this.#claims.has(member) ? null : slots.takeWorkerSlot(accountId, member);
    if (slot === null) {
      // There is no slot: the account has used its own, slow endpoints have used theirs, or this process still works on
      // the endpoint after it lost the lease.
      void this.#giveBack(claim, slots.isSlow(member) ? SLOW_ENDPOINT_POSTPONE_MS : ENDPOINT_POSTPONE_MS);
      return;
    }
    this.#claims.set(member, claim);
    const work = this.#runWorker(claim, slot).finally(() => this.#runningWorkers.delete(work));
    this.#runningWorkers.add(work);
  }

  async #runWorker(claim: EndpointClaim, slot: WorkerSlot): Promise<void> {
    const afterMs = await this.#options
      .runEndpointWorker(...parseScheduleMember(claim.member), {
        mayContinue: async () => slot.mayContinue() && (await this.#renewAndCheckClaim(claim)),
        recordAttempt: slot.recordAttempt,
      })
      .catch((error: unknown) => {
        this.#options.log.warn({ err: error }, 'The worker of a webhook endpoint stopped; it goes on later');
        return FAULT_PAUSE_MS;
      });
    // The claim is removed before the endpoint is given back. Otherwise it might be renewed after another process has
    // claimed the endpoint.
    this.#claims.delete(claim.member);
    slot.release();
    await this.#giveBack(claim, afterMs);
  }

  /**
   * Gives an endpoint back to the schedule.
   * @param afterMs milliseconds until the endpoint is due again; null when it has no more deliveries.
   */
  async #giveBack({ member, holder }: EndpointClaim, afterMs: number | null): Promise<void> {
    const { coordination, slots } = this.#options;
    const wasFull = slots.free <= 1;
    try {
      const dueInMs = await coordination.settleDue(ENDPOINT_SCHEDULE_KEY, member, holder, afterMs);
      // Another read follows if a delivery was queued for the endpoint in the meantime, or if other endpoints may be
      // waiting for this slot.
      if (dueInMs === 0 || wasFull) this.#wake();
    } catch (error) {
      const message = 'A webhook endpoint was not given back; its lease ends by itself';
      this.#options.log.warn({ err: error }, message);
    }
  }

  /**
   * Renews a claim (except before its first attempt), and returns whether the worker may make another attempt. If the
   * schedule was lost, two processes may have claimed the endpoint; then only one of them continues, and at most the
   * current attempt is repeated.
   */
  async #renewAndCheckClaim(claim: EndpointClaim): Promise<boolean> {
    if (!claim.isFresh) await this.#renewClaim(claim);
    claim.isFresh = false;
    return !this.#isStopped && claim.endsMs - performance.now() >= MAX_ATTEMPT_MS;
  }

  async #renewClaim(claim: EndpointClaim): Promise<void> {
    const { member, holder } = claim;
    const endsMs = performance.now() + ENDPOINT_LEASE_MS;
    const { coordination } = this.#options;
    const isHeld = await coordination.renewDue(ENDPOINT_SCHEDULE_KEY, member, holder, ENDPOINT_LEASE_MS);
    claim.endsMs = isHeld ? endsMs : 0;
  }
}

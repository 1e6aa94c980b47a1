import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { Log } from '../../../platform/tracing/log.ts';
import { MAX_ATTEMPT_MS } from './attempt.ts';
import type { EndpointWorker } from './endpoint-worker.ts';
import { ownersOf, SCHEDULE, WAKE } from './schedule.ts';
import type { AttemptSlots, Turn } from './slots.ts';

/** The lease of a worker. An attempt starts only while the rest of the lease covers the longest attempt. */
const LEASE_MS = 30_000;
const HEARTBEAT_MS = 5_000;
/** The longest pause between two readings of the schedule, in case a wake-up is lost. */
const MAX_PAUSE_MS = 1_000;
/** The most claims of one reading, so that the processes of a host share the due endpoints. */
const MAX_CLAIMS = 64;
/** The delay of a due endpoint that finds no slot; a slow endpoint waits longer, as there may be many. */
const POSTPONED_MS = 500;
const SLOW_POSTPONED_MS = 2_000;
const AFTER_FAULT_MS = 5_000;

interface DispatcherOptions {
  coordination: Coordination;
  worker: EndpointWorker;
  /** The prefix of every holder's name in this process: it identifies the endpoints that a dead process held. */
  holderPrefix: string;
  slots: AttemptSlots;
  log: Log;
}

interface Dispatcher {
  start(): Promise<void>;
  /** Stops claiming; resolves when the attempts under way have ended and their endpoints are given back. */
  stop(): Promise<void>;
}

interface Claim {
  holder: string;
  /** The end of the lease, on the monotonic clock of this process. */
  endsMs: number;
  /** Whether the claim has not been used yet: the first attempt of a turn needs no renewal. */
  isFresh: boolean;
}

/** Claims due endpoints and runs their workers: many at once, and each endpoint in one process at a time. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { coordination, worker, holderPrefix, slots, log } = options;
  const claimed = new Map<string, Claim>();
  const running = new Set<Promise<void>>();
  let claims = 0;
  let isStopped = false;
  let isReading = false;
  let isWoken = false;
  let pause: NodeJS.Timeout | undefined;
  let heartbeat: NodeJS.Timeout | undefined;
  let unsubscribe: () => void = () => undefined;

  /** Reads the schedule now, or again after the current reading. */
  function wake(): void {
    isWoken = true;
    if (!isReading && !isStopped) void claimWhileDue();
  }

  async function claimWhileDue(): Promise<void> {
    isReading = true;
    clearTimeout(pause);
    let pauseMs = MAX_PAUSE_MS;
    while (isWoken && !isStopped && slots.free > 0) {
      isWoken = false;
      pauseMs = await claimDue();
    }
    isReading = false;
    if (isStopped) return;
    pause = setTimeout(wake, pauseMs);
    pause.unref();
  }

  /** Claims due endpoints that have a slot. @returns milliseconds until the next reading. */
  async function claimDue(): Promise<number> {
    claims += 1;
    const holder = `${holderPrefix}${claims}`;
    const limit = Math.min(slots.free, MAX_CLAIMS);
    const endsMs = performance.now() + LEASE_MS;
    try {
      const { members, nextInMs } = await coordination.claimDue(SCHEDULE, limit, LEASE_MS, holder);
      for (const member of members) run(member, { holder, endsMs, isFresh: true });
      isWoken ||= nextInMs === 0;
      return Math.min(nextInMs ?? MAX_PAUSE_MS, MAX_PAUSE_MS);
    } catch (error) {
      log.warn({ err: error }, 'The schedule of webhooks cannot be read; it is tried again');
      return MAX_PAUSE_MS;
    }
  }

  function run(member: string, claim: Claim): void {
    const slot = claimed.has(member) ? null : slots.begin(ownersOf(member)[0], member);
    if (slot === null) {
      // The account or the slow endpoints have no free slot, or this process still works on the endpoint under a lost
      // lease.
      void giveBack(member, claim, slots.isSlow(member) ? SLOW_POSTPONED_MS : POSTPONED_MS);
      return;
    }
    claimed.set(member, claim);
    const work = turn(member, claim, slot).finally(() => running.delete(work));
    running.add(work);
  }

  async function turn(member: string, claim: Claim, slot: Turn): Promise<void> {
    const afterMs = await worker(...ownersOf(member), {
      mayGoOn: async () => slot.mayGoOn() && (await mayGoOn(member, claim)),
      attempted: slot.attempted,
    }).catch((error: unknown) => {
      log.warn({ err: error }, 'The worker of a webhook endpoint stopped; it goes on later');
      return AFTER_FAULT_MS;
    });
    // This precedes the return of the endpoint: afterwards another process may claim it, so it must not be renewed.
    claimed.delete(member);
    slot.release();
    await giveBack(member, claim, afterMs);
  }

  async function giveBack(member: string, { holder }: Claim, afterMs: number | null): Promise<void> {
    const wasFull = slots.free <= 1;
    try {
      const dueInMs = await coordination.settleDue(SCHEDULE, member, holder, afterMs);
      // A delivery was queued for it in the meantime, or other endpoints wait for a slot.
      if (dueInMs === 0 || wasFull) wake();
    } catch (error) {
      log.warn({ err: error }, 'A worker was not given back; its lease ends by itself');
    }
  }

  /**
   * Decides before each attempt whether the turn goes on. From the second attempt on it renews the claim, so that after
   * a loss of the schedule two processes never go on with one endpoint: at most the current attempt is repeated.
   */
  async function mayGoOn(member: string, claim: Claim): Promise<boolean> {
    if (!claim.isFresh) await renew(member, claim);
    claim.isFresh = false;
    return !isStopped && claim.endsMs - performance.now() >= MAX_ATTEMPT_MS;
  }

  async function renew(member: string, claim: Claim): Promise<void> {
    const endsMs = performance.now() + LEASE_MS;
    const isHeld = await coordination.renewDue(SCHEDULE, member, claim.holder, LEASE_MS);
    claim.endsMs = isHeld ? endsMs : 0;
  }

  /** Extends the leases of running workers, and claims them again when the schedule was lost. */
  function beat(): void {
    for (const [member, claim] of claimed) {
      // A failed renewal leaves the lease as it was, and the worker ends in time.
      renew(member, claim).catch(() => undefined);
    }
  }

  return {
    async start() {
      unsubscribe = await coordination.subscribe(WAKE, wake);
      heartbeat = setInterval(beat, HEARTBEAT_MS);
      heartbeat.unref();
      wake();
    },
    async stop() {
      isStopped = true;
      clearTimeout(pause);
      unsubscribe();
      await Promise.all(running);
      clearInterval(heartbeat);
      // Other processes take over the endpoints that were given back; if they miss the message, they look within a
      // second.
      await coordination.publish(WAKE, '').catch(() => undefined);
    },
  };
}

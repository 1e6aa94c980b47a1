import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import { ATTEMPT_LIMIT_MS } from './attempt.ts';
import type { EndpointWorker } from './endpoint-worker.ts';
import { ownersOf, SCHEDULE, WAKE } from './schedule.ts';
import { createSlots, type Turn } from './slots.ts';

/** The lease of a worker. An attempt begins only while the longest time of an attempt is left of it. */
const LEASE_MS = 30_000;
const HEARTBEAT_MS = 5_000;
/** The longest pause between two looks at the schedule, should a wake-up be lost. */
const LONGEST_PAUSE_MS = 1_000;
/** At one look, so that the processes of a host share what is due. */
const MOST_CLAIMS = 64;
/** Until an endpoint comes up again that could not be worked on now; a slow one waits longer, as there may be many. */
const POSTPONED_MS = 500;
const SLOW_POSTPONED_MS = 2_000;
const AFTER_FAULT_MS = 5_000;

export interface DispatcherOptions {
  coordination: Coordination;
  worker: EndpointWorker;
  /** Begins the name of every holder of a worker: it tells what a process that died has held. */
  holderPrefix: string;
  /** Endpoint workers of this process at work at once, as it is set now. */
  workers: () => number;
  /** Endpoint workers of one account among them. */
  lanesOfAccount: () => number;
  log: { warn(context: object, message: string): void };
}

export interface Dispatcher {
  start(): Promise<void>;
  /** Takes one of the account's slots in this process; null when all are taken. Answers how to give it back. */
  takeSlot(accountId: string): (() => void) | null;
  /** Claims no more, and resolves when the attempts under way have ended and their workers are given back. */
  stop(): Promise<void>;
}

interface Hold {
  holder: string;
  /** On the monotonic clock of this process. */
  endsMs: number;
  /** Whether the claim is as it was made: the first attempt of a turn needs no other word. */
  isFresh: boolean;
}

/** Claims endpoints that are due and runs their workers, each in one process at a time and many beside each other. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { coordination, worker, workers, lanesOfAccount, log } = options;
  const slots = createSlots({ slots: workers, slotsOfAccount: lanesOfAccount, now: () => performance.now() });
  const held = new Map<string, Hold>();
  const running = new Set<Promise<void>>();
  let claims = 0;
  let isStopped = false;
  let isLooking = false;
  let isWoken = false;
  let pause: NodeJS.Timeout | undefined;
  let heartbeat: NodeJS.Timeout | undefined;
  let unsubscribe: () => void = () => undefined;

  /** Looks at the schedule now, or once more after the look that is under way. */
  function wake(): void {
    isWoken = true;
    if (!isLooking && !isStopped) void look();
  }

  async function look(): Promise<void> {
    isLooking = true;
    clearTimeout(pause);
    let pauseMs = LONGEST_PAUSE_MS;
    while (isWoken && !isStopped && slots.free > 0) {
      isWoken = false;
      pauseMs = await claim();
    }
    isLooking = false;
    if (isStopped) return;
    pause = setTimeout(wake, pauseMs);
    pause.unref();
  }

  /** Claims what is due and fits; answers how long to wait before the next look. */
  async function claim(): Promise<number> {
    claims += 1;
    const holder = `${options.holderPrefix}${claims}`;
    const limit = Math.min(slots.free, MOST_CLAIMS);
    const endsMs = performance.now() + LEASE_MS;
    try {
      const { members, nextInMs } = await coordination.claimDue(SCHEDULE, limit, LEASE_MS, holder);
      for (const member of members) run(member, { holder, endsMs, isFresh: true });
      isWoken ||= nextInMs === 0;
      return Math.min(nextInMs ?? LONGEST_PAUSE_MS, LONGEST_PAUSE_MS);
    } catch (error) {
      log.warn({ err: error }, 'The schedule of webhooks cannot be read; it is tried again');
      return LONGEST_PAUSE_MS;
    }
  }

  function run(member: string, hold: Hold): void {
    const slot = held.has(member) ? null : slots.begin(ownersOf(member)[0], member);
    if (slot === null) {
      // Its account or slow endpoints hold all that they may; or this process works on it still, under a lease it lost.
      void giveBack(member, hold, slots.isSlow(member) ? SLOW_POSTPONED_MS : POSTPONED_MS);
      return;
    }
    held.set(member, hold);
    const work = turn(member, hold, slot)
      .finally(() => {
        // Before it is given back: from then on it may be claimed again, and must not be renewed any more.
        held.delete(member);
        slot.leave();
      })
      .then((afterMs) => giveBack(member, hold, afterMs))
      .finally(() => running.delete(work));
    running.add(work);
  }

  async function turn(member: string, hold: Hold, slot: Turn): Promise<number | null> {
    try {
      return await worker(...ownersOf(member), {
        mayGoOn: async () => slot.mayGoOn() && (await mayGoOn(member, hold)),
        attempted: slot.attempted,
      });
    } catch (error) {
      log.warn({ err: error }, 'The worker of a webhook endpoint stopped; it goes on later');
      return AFTER_FAULT_MS;
    }
  }

  async function giveBack(member: string, { holder }: Hold, afterMs: number | null): Promise<void> {
    const wasFull = slots.free <= 1;
    try {
      const dueInMs = await coordination.settleDue(SCHEDULE, member, holder, afterMs);
      // Something was queued for it meanwhile, or others wait that did not fit before.
      if (dueInMs === 0 || wasFull) wake();
    } catch (error) {
      log.warn({ err: error }, 'A worker was not given back; its lease ends by itself');
    }
  }

  /**
   * Asked before each attempt. From the second on the claim is renewed, so that after a loss of the schedule no two
   * processes go on with one endpoint: at most the attempt that was under way is made again.
   */
  async function mayGoOn(member: string, hold: Hold): Promise<boolean> {
    if (!hold.isFresh) await renew(member, hold);
    hold.isFresh = false;
    return !isStopped && hold.endsMs - performance.now() >= ATTEMPT_LIMIT_MS;
  }

  async function renew(member: string, hold: Hold): Promise<void> {
    const endsMs = performance.now() + LEASE_MS;
    const isHeld = await coordination.renewDue(SCHEDULE, member, hold.holder, LEASE_MS);
    hold.endsMs = isHeld ? endsMs : 0;
  }

  /** Extends the leases of workers at work, and takes them again when the schedule was lost. */
  function beat(): void {
    for (const [member, hold] of held) {
      // Without an answer the lease stands as it was, and the worker ends in time.
      renew(member, hold).catch(() => undefined);
    }
  }

  return {
    takeSlot: slots.takeSlot,
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
      // Others take over what this process gave back; should they not hear of it, they look within a second.
      await coordination.publish(WAKE, '').catch(() => undefined);
    },
  };
}

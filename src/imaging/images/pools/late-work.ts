import { hash } from 'node:crypto';
import type { Clock } from '../../../platform/clock.ts';
import type { ApiError } from '../../../platform/http/errors/errors.ts';
import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import {
  type CallAlternatives,
  likelyTooLongError,
  starvedError,
  tookTooLongError,
  type WorkTime,
} from '../failures.ts';
import { SpacedCallTimes } from '../spaced-times.ts';

/** The time for which late work is not started again. */
const LATE_WORK_TTL_SECONDS = 60;
const LATE_WORK_TTL_MS = LATE_WORK_TTL_SECONDS * 1_000;
/**
 * Work may begin if it has less than this share of the size of late work of the same kind, because it may be in time.
 */
const MIN_SIZE_RATIO_OF_SIMILAR_WORK = 0.8;
/**
 * Work that used less than this share of its time on a core was delayed by other work, and may be in time on a less
 * busy host.
 */
const MIN_CPU_SHARE = 0.5;
/**
 * The shortest time between two refusals of one account. Without this limit, a client could send one large body after
 * another although each is refused.
 */
const MIN_REFUSAL_INTERVAL_MS = 1_000;
/** The longest delay of a refusal. */
const MAX_REFUSAL_DELAY_MS = 5_000;
/** The channel that announces late work, as JSON. */
const LATE_WORK_CHANNEL = 'images/late';

/**
 * The error for work that missed its deadline, because other work delayed it or because it takes long by itself.
 * @param retryAfterSeconds the expected wait for a slot, after which delayed work may be tried again.
 */
export function lateWorkError(
  time: WorkTime,
  retryAfterSeconds: number,
  alternatives: (wasDelayed: boolean) => CallAlternatives,
): ApiError {
  if (wasStarved(time)) return starvedError(retryAfterSeconds, time, alternatives(true));
  return tookTooLongError(LATE_WORK_TTL_SECONDS, alternatives(false));
}

/** Whether work used so little CPU time that other work must have delayed it. */
function wasStarved({ cpuMs, allowedMs }: WorkTime): boolean {
  return cpuMs < MIN_CPU_SHARE * allowedMs;
}

type Channels = Pick<Coordination, 'publish' | 'subscribe'>;

/** Work that has exceeded its deadline. */
interface LateWorkNotice {
  /** Names the account and the kind of work. */
  key: string;
  size: number;
}

/**
 * Work that has exceeded its deadline in the last minute, by account. The same work on an equally large file would
 * exceed it again. Work that was late because other programs took the CPU is not recorded. A message informs every
 * process of a deployment. If the message is lost, another process begins the work once more.
 */
export class LateWork {
  readonly #clock: Clock;
  #coordination: Channels | null = null;
  #unsubscribe: () => void = () => {};
  /**
   * By account: when its work last exceeded its deadline, and the size of the smallest work that did. The account with
   * the oldest time comes first.
   */
  readonly #late = new Map<string, { sinceMs: number; size: number }>();
  readonly #refusals: SpacedCallTimes;

  /** Remembers the late work of this process alone. */
  constructor(clock: Clock) {
    this.#clock = clock;
    this.#refusals = new SpacedCallTimes(clock, MAX_REFUSAL_DELAY_MS);
  }

  /** Remembers the late work of every process that shares this coordination. */
  static async open(clock: Clock, coordination: Channels): Promise<LateWork> {
    const lateWork = new LateWork(clock);
    lateWork.#coordination = coordination;
    lateWork.#unsubscribe = await coordination.subscribe(LATE_WORK_CHANNEL, (message) =>
      lateWork.#rememberLateWork(JSON.parse(message) as LateWorkNotice),
    );
    return lateWork;
  }

  /**
   * Records work that has exceeded its deadline, unless other programs took the CPU.
   * @param name a text that is the same for work of the same kind.
   * @param size of the work, in any unit that is used for this name.
   */
  record(accountId: string, name: string, size: number, time: WorkTime): void {
    if (wasStarved(time)) return;
    const notice: LateWorkNotice = { key: lateWorkKeyOf(accountId, name), size };
    this.#rememberLateWork(notice);
    this.#coordination?.publish(LATE_WORK_CHANNEL, JSON.stringify(notice)).catch(() => undefined);
  }

  /**
   * Seconds until work of the account may begin, rounded up; 0 if it may begin now. Work below four fifths of the size
   * of the smallest late work of its kind may begin.
   * @param nameOf returns a text that is the same for work of the same kind. It is called only if there is late work.
   */
  secondsUntilAllowed(accountId: string, nameOf: () => string, size: number): number {
    this.#forgetOld();
    if (this.#late.size === 0) return 0;
    const smallestLate = this.#late.get(lateWorkKeyOf(accountId, nameOf()));
    if (smallestLate === undefined || size < MIN_SIZE_RATIO_OF_SIMILAR_WORK * smallestLate.size) return 0;
    return Math.ceil((smallestLate.sinceMs + LATE_WORK_TTL_MS - this.#clock.elapsedMs()) / 1_000);
  }

  /**
   * The refusal of work that may not begin yet. It is delayed if the account had another one in the last second.
   * Without the delay, a client that repeats such work at once would occupy the CPU by its bodies alone.
   */
  refusal(accountId: string, retryAfterSeconds: number, alternatives: CallAlternatives): ApiError {
    const holdMs = this.#refusals.nextDelayMs(accountId, { waitMs: 0, spaceMs: MIN_REFUSAL_INTERVAL_MS });
    return likelyTooLongError({ retryAfterSeconds, holdMs }, alternatives);
  }

  close(): void {
    this.#unsubscribe();
  }

  #rememberLateWork({ key, size }: LateWorkNotice): void {
    this.#forgetOld();
    const smallestSize = Math.min(size, this.#late.get(key)?.size ?? size);
    this.#late.delete(key);
    this.#late.set(key, { sinceMs: this.#clock.elapsedMs(), size: smallestSize });
  }

  #forgetOld(): void {
    for (const [key, { sinceMs }] of this.#late) {
      if (this.#clock.elapsedMs() - sinceMs < LATE_WORK_TTL_MS) return;
      this.#late.delete(key);
    }
  }
}

/** The name is hashed, because it may hold all parameters of a call. */
function lateWorkKeyOf(accountId: string, name: string): string {
  return `${accountId} ${hash('sha256', name, 'base64')}`;
}

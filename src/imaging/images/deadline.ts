import type { Clock } from '../../platform/clock.ts';
import type { ApiError } from '../../platform/http/errors/errors.ts';
import type { WorkClass } from './slots.ts';

interface DeadlineOptions {
  /** Epoch milliseconds. */
  deadlineMs: number;
  /** The deadline of a call includes its waits, that of a job does not. Absent: a call. */
  work?: WorkClass | undefined;
  client: AbortSignal | undefined;
  /** Ends the waits of a job, and not what it does between them. */
  waitSignal?: AbortSignal | undefined;
  clock: Clock;
  /** The refusal at the deadline, unless `begin` names another. */
  late: () => ApiError;
}

/**
 * The deadline of a call and the disconnect of its client, as one signal. At the deadline its reason is the refusal; at
 * a disconnect, or at the end of a wait that is given up, it is the reason of that signal.
 */
export class Deadline {
  readonly #options: DeadlineOptions;
  readonly #controller = new AbortController();
  readonly #calledMs: number;
  #deadlineMs: number;
  #cancelTimer: () => void;
  /** When the work began, and the refusal where it took too long; null while it waits. */
  #begun: { sinceMs: number; tookTooLong: () => ApiError } | null = null;

  constructor(options: DeadlineOptions) {
    const { client, clock, deadlineMs } = options;
    this.#options = options;
    this.#calledMs = clock.elapsedMs();
    this.#deadlineMs = deadlineMs;
    this.#cancelTimer = this.#startTimer();
    if (client?.aborted) this.#leave();
    client?.addEventListener('abort', this.#leave, { once: true });
  }

  /** Aborts with the error that the caller gets. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Epoch milliseconds of the present deadline. */
  deadlineMs(): number {
    return this.#deadlineMs;
  }

  /** Waits for a slot. The wait postpones the deadline of a job, but not that of a call. */
  waiting<T>(slot: Promise<T>): Promise<T> {
    return this.#options.work === 'job' ? this.#withoutTimer(slot) : slot;
  }

  /**
   * Marks that the work begins now, or begins again.
   * @param tookTooLong the refusal at the deadline, where the work takes longer than the wait for it.
   */
  begin(tookTooLong: () => ApiError): void {
    this.#begun = { sinceMs: this.#options.clock.elapsedMs(), tookTooLong };
  }

  /** The refusal at the deadline, by what took longer until now. The wait of a job does not count. */
  refusal(): ApiError {
    const { work, clock, late } = this.#options;
    if (this.#begun === null) return late();
    const { sinceMs, tookTooLong } = this.#begun;
    const waitedMs = work === 'job' ? 0 : sinceMs - this.#calledMs;
    return clock.elapsedMs() - sinceMs > waitedMs ? tookTooLong() : late();
  }

  /**
   * Resolves with the result of the work, or rejects with the signal's reason as soon as it aborts. The work itself
   * goes on, because a thread inside libvips cannot be stopped. Its slot is freed when the work ends.
   */
  guard<T>(work: Promise<T>): Promise<T> {
    return unlessAborted(work, this.signal);
  }

  /** Stops the timer. Call it when the work has its result. */
  end(): void {
    this.#cancelTimer();
    this.#options.client?.removeEventListener('abort', this.#leave);
    this.#options.waitSignal?.removeEventListener('abort', this.#giveUp);
  }

  readonly #leave = (): void => this.#controller.abort(this.#options.client?.reason);

  readonly #giveUp = (): void => this.#controller.abort(this.#options.waitSignal?.reason);

  #startTimer(): () => void {
    const { clock } = this.#options;
    return clock.after(this.#deadlineMs - clock.nowMs(), () => this.#controller.abort(this.refusal()));
  }

  async #withoutTimer<T>(slot: Promise<T>): Promise<T> {
    const { clock, waitSignal } = this.#options;
    const sinceMs = clock.elapsedMs();
    this.#cancelTimer();
    if (waitSignal?.aborted) this.#giveUp();
    waitSignal?.addEventListener('abort', this.#giveUp, { once: true });
    try {
      return await slot;
    } finally {
      waitSignal?.removeEventListener('abort', this.#giveUp);
      this.#deadlineMs += clock.elapsedMs() - sinceMs;
      this.#cancelTimer = this.#startTimer();
    }
  }
}

/** Resolves with the result of the work, or rejects with the signal's reason as soon as it aborts. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}

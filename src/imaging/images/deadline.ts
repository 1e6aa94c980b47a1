import { rejectOnAbort } from '../../../workers/transport/abort.ts';
import type { Clock } from '../../platform/clock.ts';
import type { ApiError } from '../../platform/http/errors/errors.ts';
import type { LatePart, WorkTime } from './failures.ts';
import type { WorkClass } from './slots.ts';

interface DeadlineOptions {
  /** Epoch milliseconds. */
  deadlineMs: number;
  /**
   * Whether the work is a call, whose deadline includes the time that it waits, or a job, whose deadline does not. By
   * default, it is a call.
   */
  work?: WorkClass | undefined;
  client: AbortSignal | undefined;
  /** Ends a wait of a job for its slot, but not its running work. */
  waitSignal?: AbortSignal | undefined;
  clock: Clock;
  /** Makes the error at the deadline of a call that mostly waited, or that has not begun its work. */
  createWaitError: () => ApiError;
}

/** Makes the error of work that took too long. The part is absent if the worker has not reported which one is late. */
type LateErrorMaker = (time: WorkTime, part?: LatePart) => ApiError;

/**
 * Combines the deadline of a call and the disconnect of its client in one signal. At the deadline, the signal's reason
 * is the error for the caller. At a disconnect, or when `waitSignal` aborts, it is the reason of that signal.
 */
export class CallDeadline {
  readonly #options: DeadlineOptions;
  readonly #controller = new AbortController();
  readonly #calledMs: number;
  #deadlineMs: number;
  #cancelTimer: () => void;
  /** When the work began, and the error to use if it takes too long; null while the call waits. */
  #begun: { sinceMs: number; createWorkError: LateErrorMaker } | null = null;
  #workCpuMs: () => number | null = () => null;

  constructor(options: DeadlineOptions) {
    const { client, clock, deadlineMs } = options;
    this.#options = options;
    this.#calledMs = clock.elapsedMs();
    this.#deadlineMs = deadlineMs;
    this.#cancelTimer = this.#startTimer();
    if (client?.aborted) this.#abortForClient();
    client?.addEventListener('abort', this.#abortForClient, { once: true });
  }

  /** Aborts with the error that the caller gets. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The deadline in epoch milliseconds, with its postponements so far. */
  deadlineMs(): number {
    return this.#deadlineMs;
  }

  /** Waits for a slot. The wait postpones the deadline of a job, but not the deadline of a call. */
  waitForSlot<T>(slot: Promise<T>): Promise<T> {
    return this.#options.work === 'job' ? this.#withoutTimer(slot) : slot;
  }

  /**
   * Records that the work begins now, or begins again.
   * @param createWorkError makes the error at the deadline if the work took longer than the wait.
   */
  startWork(createWorkError: LateErrorMaker): void {
    this.#begun = { sinceMs: this.#options.clock.elapsedMs(), createWorkError };
  }

  /**
   * Records that the work begins only now, because the worker had to be started first. That time counts as wait.
   * @param workCpuMs returns the CPU milliseconds that the work has used so far; null if they are unknown.
   */
  recordWorkerStart(workCpuMs: () => number | null): void {
    this.#workCpuMs = workCpuMs;
    if (this.#begun !== null) this.#begun.sinceMs = this.#options.clock.elapsedMs();
  }

  /** Milliseconds that the call has waited for its worker so far. */
  waitedMs(): number {
    return (this.#begun?.sinceMs ?? this.#options.clock.elapsedMs()) - this.#calledMs;
  }

  /**
   * The error at the deadline. It depends on whether the wait or the work took longer. The wait of a job does not
   * count.
   * @param part the late part of the work, if the worker reports it.
   */
  deadlineError(part?: LatePart): ApiError {
    const { work, clock, createWaitError } = this.#options;
    if (this.#begun === null) return createWaitError();
    const { sinceMs, createWorkError } = this.#begun;
    const waitedMs = work === 'job' ? 0 : this.waitedMs();
    const allowedMs = clock.elapsedMs() - sinceMs;
    if (waitedMs > allowedMs) return createWaitError();
    return createWorkError({ cpuMs: this.#workCpuMs() ?? allowedMs, allowedMs }, part);
  }

  /**
   * Resolves with the result of the work, or rejects with the signal's reason as soon as the signal aborts. The work
   * itself goes on, because a thread inside libvips cannot be stopped. Its slot is freed when the work ends.
   */
  guard<T>(work: Promise<T>): Promise<T> {
    return rejectOnAbort(work, this.signal);
  }

  /** Stops the timer. Call it when the work has its result. */
  end(): void {
    this.#cancelTimer();
    this.#options.client?.removeEventListener('abort', this.#abortForClient);
    this.#options.waitSignal?.removeEventListener('abort', this.#abortWait);
  }

  readonly #abortForClient = (): void => this.#controller.abort(this.#options.client?.reason);

  readonly #abortWait = (): void => this.#controller.abort(this.#options.waitSignal?.reason);

  #startTimer(): () => void {
    const { clock } = this.#options;
    return clock.after(this.#deadlineMs - clock.nowMs(), () => this.#controller.abort(this.deadlineError()));
  }

  async #withoutTimer<T>(slot: Promise<T>): Promise<T> {
    const { clock, waitSignal } = this.#options;
    const sinceMs = clock.elapsedMs();
    this.#cancelTimer();
    if (waitSignal?.aborted) this.#abortWait();
    waitSignal?.addEventListener('abort', this.#abortWait, { once: true });
    try {
      return await slot;
    } finally {
      waitSignal?.removeEventListener('abort', this.#abortWait);
      this.#deadlineMs += clock.elapsedMs() - sinceMs;
      this.#cancelTimer = this.#startTimer();
    }
  }
}

import { join } from 'node:path';
import type { RenderResult, RenderTask, RenderThreadOptions } from '../../../workers/render/protocol.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import type { Capacity } from '../../platform/concurrency/capacity.ts';
import type { SettingsOf } from '../../platform/setting.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';
import { CallDeadline } from '../images/deadline.ts';
import type { RunningCall } from '../images/image-call.ts';
import type { AccountWorkerTime } from '../images/pools/work-history.ts';
import type { WorkClass } from '../images/slots.ts';
import type { rendersSettings } from './config.ts';
import { type RenderedPage, rendererBusyError, requireRenderedPage, rethrowAsApiError } from './failures.ts';
import { type PageCall, RenderPool } from './pool.ts';
import { findSandboxObstacle } from './sandbox.ts';
import { BrowserThread, IdleEndingThread, type RenderLog } from './thread.ts';

export interface RendersOptions extends Omit<RenderThreadOptions, 'niceness'> {
  /** The value of RENDER_THREADS: the render threads of this process. */
  threads: number;
  /** The value of RENDER_QUEUE: the most pages that may wait. */
  queueLimit: number;
  /** Whether the host lets the browser have its sandbox, as far as that is known before the first browser starts. */
  sandboxed: boolean;
  /**
   * The longest time for which a slow page may be drawn while slow pages of other accounts wait, in milliseconds; 5 s
   * by default.
   */
  fairDrawingMs?: number;
  /** The worker time of each account, shared with its image passes. */
  workerTime: AccountWorkerTime;
  log: RenderLog;
  clock?: Clock;
}

/** A page to draw. The deadline of a job is extended by its wait. */
export interface RenderRequest extends Omit<RenderTask, 'kind'> {
  /** The class of the work; a call by default. Jobs yield to calls and wait without a limit. */
  work?: WorkClass;
  /** Ends the wait and the drawing when the client has gone. */
  signal?: AbortSignal;
  /** Ends the wait of a job for a browser, but not the drawing. */
  waitSignal?: AbortSignal;
  /** The request field to name in errors about the page; `templateId` by default. */
  param?: string;
}

/** The most browsers in addition to those of the render threads: one for the spare thread, and one for slow pages. */
export const MAX_ADDITIONAL_BROWSERS = 2;
/** The number of pages in a thread: it draws one page while it encodes the previous one. */
const SLOTS_PER_THREAD = 2;
/** The longest time for which a slow page may be drawn while slow pages of other accounts wait. */
const MAX_FAIR_DRAWING_MS = 5_000;
/** The idle times after which the browsers of the slow pool and of the spare thread end. */
const SLOW_IDLE_MS = 60_000;
const SPARE_IDLE_MS = 300_000;
/** If a page of a slow account was drawn for at least this long, the account counts as slow for another minute. */
const MIN_LONG_DRAWING_MS = 1_000;
/** The niceness of the slow pool, so that other processes get the CPU first. */
const SLOW_NICENESS = 10;

interface OpenRendersOptions extends Pick<RendersOptions, 'workerTime' | 'log'> {
  settings: SettingsOf<typeof rendersSettings>;
  capacity: Capacity;
  /** DATA_DIR; the bundled browser is unpacked in a folder below it. */
  dataDir: string;
}

/** Opens the render threads by the operator's settings. */
export async function openRenders(options: OpenRendersOptions): Promise<Renders> {
  const { settings, capacity, dataDir, workerTime, log } = options;
  const renders = new Renders({
    threads: capacity.renderThreads(),
    queueLimit: settings.RENDER_QUEUE,
    browserPath: settings.BROWSER_PATH,
    cacheDir: join(dataDir, 'browser'),
    sandbox: settings.RENDER_SANDBOX,
    sandboxed: (await findSandboxObstacle()) === null,
    recycleAfterPages: settings.RENDER_RECYCLE_PAGES,
    memoryLimitBytes: settings.RENDER_MEMORY_MEGABYTES * MEGABYTE_BYTES,
    workerTime,
    log,
  });
  capacity.onChange(() => renders.resize(capacity.renderThreads()));
  return renders;
}

/** Draws pages. It is the only access to the render threads and their browsers. */
export class Renders {
  readonly #options: RendersOptions;
  readonly #clock: Clock;
  readonly #slowAccounts: SlowAccounts;
  readonly #spareThread: IdleEndingThread;
  readonly #slowThread: IdleEndingThread;
  readonly #commonPool: RenderPool;
  /**
   * The pool for accounts whose page was slow: one browser that draws one page at a time, apart from the pages of other
   * accounts.
   */
  readonly #slowPool: RenderPool;
  #isSandboxed: boolean;

  constructor(options: RendersOptions) {
    const { threads, queueLimit, workerTime, clock = systemClock } = options;
    const { fairDrawingMs = MAX_FAIR_DRAWING_MS } = options;
    this.#options = options;
    this.#clock = clock;
    this.#isSandboxed = options.sandboxed;
    this.#slowAccounts = new SlowAccounts(clock);
    this.#slowThread = new IdleEndingThread(this.#createThread(SLOW_NICENESS), SLOW_IDLE_MS, clock);
    this.#spareThread = new IdleEndingThread(this.#createThread(), SPARE_IDLE_MS, clock);
    const shared = { queueLimit, onStopped: this.#onStopped, workerTime, clock };
    this.#commonPool = new RenderPool({
      ...shared,
      threads: Array.from({ length: threads }, () => this.#createThread()),
      slotsPerThread: SLOTS_PER_THREAD,
      spare: this.#spareThread,
    });
    this.#slowPool = new RenderPool({
      ...shared,
      threads: [this.#slowThread],
      slotsPerThread: 1,
      fairDrawingMs,
    });
  }

  /**
   * Draws a page. Pages of two accounts never share a browser context, and pages of one account never fill all
   * browsers. A page that takes longer than usual while other accounts are served is restarted in a separate browser.
   * For one minute all pages of its account are drawn there, one at a time, each for at most 5 s if it keeps others
   * waiting. The same holds for an account that has used up its budget of worker time.
   *
   * The result rejects with invalid_param on `param` when the document does not finish loading or needs more memory
   * than a browser may hold; with provider_unavailable (details.reason capacity, deadline_exceeded,
   * worker_unreachable; with Retry-After); or with the signal's reason when it aborts.
   */
  begin(request: RenderRequest): RunningCall<RenderedPage> {
    const { signal: client, waitSignal, deadlineMs, param = 'templateId', ...page } = request;
    const clock = this.#clock;
    this.#options.workerTime.recordArrival(page.accountId);
    const createWaitError = () => rendererBusyError(this.#commonPool.admission.retryAfterSeconds());
    const deadline = new CallDeadline({
      deadlineMs,
      work: page.work,
      client,
      waitSignal,
      clock,
      createWaitError,
    });
    const calledMs = clock.elapsedMs();
    const drawing = this.#draw({ ...page, deadline });
    const result = deadline
      .guard(drawing)
      .then((answer) => {
        const elapsedMs = clock.elapsedMs() - calledMs;
        return requireRenderedPage(answer, elapsedMs, {
          param,
          createDeadlineError: () => deadline.deadlineError(),
        });
      })
      .catch(rethrowAsApiError)
      .finally(() => deadline.end());
    return { result, ended: Promise.allSettled([result, drawing]), waitedMs: () => deadline.waitedMs() };
  }

  stats(): { threads: number; busy: number; waiting: number } {
    const [common, slow] = [this.#commonPool.admission.stats(), this.#slowPool.admission.stats()];
    return {
      threads: this.#commonPool.threads().length,
      busy: common.busy + slow.busy,
      waiting: common.waiting + slow.waiting,
    };
  }

  /** Whether the browser runs in its sandbox. */
  isSandboxed(): boolean {
    return this.#isSandboxed;
  }

  /** Changes the number of render threads of this process. No render fails. */
  resize(count: number): void {
    const threads = this.#commonPool.threads();
    const more = Array.from({ length: Math.max(0, count - threads.length) }, () => this.#createThread());
    this.#commonPool.resize([...threads.slice(0, count), ...more]);
  }

  /** Waits for the renders in progress, then ends browsers and threads. */
  async close(): Promise<void> {
    await Promise.all([this.#commonPool, this.#slowPool].map(({ admission }) => admission.whenIdle()));
    const threads = [...this.#commonPool.threads(), this.#slowThread, this.#spareThread];
    await Promise.all(threads.map((thread) => thread.stop()));
  }

  /** Draws a page in the common pool, or in the slow pool if the account or the page is slow. */
  async #draw(call: PageCall): Promise<RenderResult> {
    if (!this.#isDeprioritized(call)) {
      const result = await this.#commonPool.draw(call);
      if (result !== 'withdrawn') return result;
    }
    const result = await this.#slowPool.draw(call);
    if (result === 'withdrawn') throw new Error('The slow pool withdrew a page.');
    if (wasDrawnForLong(result)) this.#slowAccounts.markSlow(call.accountId);
    return result;
  }

  #isDeprioritized({ accountId, work }: PageCall): boolean {
    if (this.#slowAccounts.has(accountId)) return true;
    return work !== 'job' && this.#options.workerTime.mustYield(accountId);
  }

  readonly #onStopped = (accountId: string): void => {
    this.#slowAccounts.markSlow(accountId);
    this.#commonPool.withdraw(accountId);
  };

  #createThread(niceness?: number): BrowserThread {
    const { browserPath, cacheDir, sandbox, recycleAfterPages, memoryLimitBytes, log } = this.#options;
    const browser = { browserPath, cacheDir, sandbox, recycleAfterPages, memoryLimitBytes };
    const onUnsandboxed = () => {
      this.#isSandboxed = false;
    };
    return new BrowserThread({ ...browser, ...withoutAbsentFields({ niceness }) }, { log, onUnsandboxed });
  }
}

/** Whether a page took so long that the next page of its account must be isolated too. */
function wasDrawnForLong(answer: RenderResult): boolean {
  if (answer.kind !== 'rendered') return false;
  const { decodeMs, processMs } = answer.timings;
  return decodeMs + processMs >= MIN_LONG_DRAWING_MS;
}

/** The time for which an account counts as slow after one of its pages was stopped. */
export const SLOW_ACCOUNT_TTL_MS = 60_000;

/** Accounts whose last page had to be stopped. Their pages are drawn in a separate browser for the next minute. */
export class SlowAccounts {
  readonly #clock: Clock;
  /** The time, on the monotonic clock, until which each account counts as slow. The earliest comes first. */
  readonly #slowUntilMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  markSlow(accountId: string): void {
    this.#slowUntilMs.delete(accountId);
    this.#slowUntilMs.set(accountId, this.#clock.elapsedMs() + SLOW_ACCOUNT_TTL_MS);
    this.#forgetExpiredSlowAccounts();
  }

  has(accountId: string): boolean {
    return (this.#slowUntilMs.get(accountId) ?? Number.NEGATIVE_INFINITY) > this.#clock.elapsedMs();
  }

  #forgetExpiredSlowAccounts(): void {
    const nowMs = this.#clock.elapsedMs();
    for (const [accountId, endsMs] of this.#slowUntilMs) {
      if (endsMs > nowMs) return;
      this.#slowUntilMs.delete(accountId);
    }
  }
}

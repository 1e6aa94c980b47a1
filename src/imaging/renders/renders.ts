import { join } from 'node:path';
import type { RenderTask, RenderThreadOptions } from '../../../workers/render/protocol.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import type { Capacity } from '../../platform/concurrency/capacity.ts';
import type { SettingsOf } from '../../platform/setting.ts';
import { MEGABYTE } from '../../platform/values/units.ts';
import { deadlineOf, unlessAborted } from '../images/deadline.ts';
import type { Work } from '../images/pixels.ts';
import type { WorkClass } from '../images/slots.ts';
import type { rendersSettings } from './config.ts';
import { lateness, type RenderedPage, requirePage, rethrow, stoppedForOthers } from './failures.ts';
import { createRenderPool, type PageToDraw, type PoolOutcome, type RenderPool } from './pool.ts';
import { sandboxObstacle } from './sandbox.ts';
import { SlowAccounts } from './slow-accounts.ts';
import { Standby } from './standby.ts';
import { createRenderThread, type RenderLog } from './thread.ts';

export interface RendersOptions extends Omit<RenderThreadOptions, 'niceness'> {
  /** RENDER_THREADS. */
  threads: number;
  /** RENDER_QUEUE. */
  queueLimit: number;
  /** Whether the host allows the browser its sandbox, as far as that is known before the first browser starts. */
  sandboxed: boolean;
  /** How long a page may be drawn while pages of other accounts wait, in milliseconds; absent: 5 s. */
  fairDrawingMs?: number;
  log: RenderLog;
  clock?: Clock;
}

/** A page to draw. A job's deadline is extended by the time that it waits. */
export interface RenderRequest extends Omit<RenderTask, 'kind'> {
  /** Jobs yield to calls and wait without a limit. Absent: a call. */
  work?: WorkClass;
  /** Ends the waiting and the drawing when the client has gone. */
  signal?: AbortSignal;
  /** The field of the call that brought the page, which a refusal of the page names. Absent: `templateId`. */
  param?: string;
}

/** The only access to the render threads and their browsers. */
export interface Renders {
  /**
   * Draws a page. A page of one account never shares a browser context with another account's. A page that takes longer
   * than usual while pages of other accounts wait is restarted in a separate browser. For one minute all pages of its
   * account are drawn there, one at a time; a page there that keeps others waiting is drawn for 5 s at most.
   *
   * The result rejects with invalid_param on `param` when the document does not finish loading or needs more memory
   * than a browser may hold; provider_unavailable
   * (details.reason capacity, deadline_exceeded, worker_unreachable; with Retry-After); the signal's reason when it
   * aborts.
   */
  begin(request: RenderRequest): Work<RenderedPage>;
  /** Returns `begin().result`, for callers that hold nothing until the work has ended. */
  render(request: RenderRequest): Promise<RenderedPage>;
  stats(): { threads: number; busy: number; waiting: number };
  /** False where the browser runs without a sandbox. */
  isSandboxed(): boolean;
  /** Changes the number of render threads of this process, without a failed render. */
  resize(threads: number): void;
  /** Waits for the renders in progress, then ends browsers and threads. */
  close(): Promise<void>;
}

/** A thread draws one page while it encodes the previous one. */
const SLOTS_PER_THREAD = 2;
/** How long a page may be drawn while pages of other accounts wait. */
const FAIR_DRAWING_MS = 5_000;
/**
 * The same for the first page of an account, which nothing is known of: it goes on in the browser for slow pages,
 * because others would wait for a browser that relieves this one to start.
 */
const NEWCOMER_DRAWING_MS = 1_000;
/** Idle time after which the browser of the slow pool ends. */
const SLOW_POOL_IDLE_MS = 60_000;
/** Drawing time from which a page of a slow account keeps the account slow. */
const LONG_MS = 1_000;
/** Niceness of the slow pool, so that other processes get the CPU first. */
const SLOW_NICENESS = 10;

/**
 * Opens the render threads by the operator's settings.
 * @param dataDir DATA_DIR; the bundled browser is unpacked in a folder below it.
 */
export async function openRenders(
  settings: SettingsOf<typeof rendersSettings>,
  capacity: Capacity,
  dataDir: string,
  log: RenderLog,
): Promise<Renders> {
  const renders = createRenders({
    threads: capacity.renderThreads(),
    queueLimit: settings.RENDER_QUEUE,
    browserPath: settings.BROWSER_PATH,
    cacheDir: join(dataDir, 'browser'),
    sandbox: settings.RENDER_SANDBOX,
    sandboxed: (await sandboxObstacle()) === null,
    recycleAfterPages: settings.RENDER_RECYCLE_PAGES,
    memoryLimitBytes: settings.RENDER_MEMORY_MEGABYTES * MEGABYTE,
    log,
  });
  capacity.onChange(() => renders.resize(capacity.renderThreads()));
  return renders;
}

export function createRenders(options: RendersOptions): Renders {
  const { threads, queueLimit, fairDrawingMs = FAIR_DRAWING_MS, log, clock = systemClock } = options;
  const { browserPath, cacheDir, sandbox, recycleAfterPages, memoryLimitBytes } = options;
  const browser = { browserPath, cacheDir, sandbox, recycleAfterPages, memoryLimitBytes };
  let isSandboxed = options.sandboxed;
  const onUnsandboxed = () => {
    isSandboxed = false;
  };
  const newThread = (niceness?: number) =>
    createRenderThread({ ...browser, ...(niceness && { niceness }) }, { log, onUnsandboxed });
  const slowThread = newThread(SLOW_NICENESS);
  const slowAccounts = new SlowAccounts(clock);
  let cancelIdleStop: (() => void) | undefined;
  let slowPoolStopped: Promise<void> = Promise.resolve();

  function onStopped(accountId: string): void {
    slowAccounts.mark(accountId);
    commonPool.withdraw(accountId);
  }
  const standby = new Standby({ newThread, clock, onReady: () => commonPool.review() });
  const commonPool = createRenderPool({
    threads: Array.from({ length: threads }, () => newThread()),
    slotsPerThread: SLOTS_PER_THREAD,
    queueLimit,
    fairDrawingMs,
    newcomerDrawingMs: NEWCOMER_DRAWING_MS,
    onStopped,
    relieve: standby.relieve,
    clock,
  });
  /**
   * The pool for accounts whose page was slow: one browser, one page at a time, isolated from the pages of other
   * accounts.
   */
  const slowPool = createRenderPool({
    threads: [slowThread],
    slotsPerThread: 1,
    queueLimit,
    fairDrawingMs,
    onStopped,
    clock,
  });

  async function drawSlowly(page: PageToDraw): Promise<PoolOutcome> {
    cancelIdleStop?.();
    await slowPoolStopped;
    try {
      const outcome = await slowPool.draw(page);
      if (tookLong(outcome)) slowAccounts.mark(page.accountId);
      return outcome;
    } finally {
      cancelIdleStop?.();
      cancelIdleStop = clock.after(SLOW_POOL_IDLE_MS, () => {
        slowPoolStopped = slowThread.stopIfIdle();
      });
    }
  }

  async function drawIn(page: PageToDraw): Promise<{ outcome: PoolOutcome; pool: RenderPool }> {
    if (!slowAccounts.has(page.accountId)) {
      const outcome = await commonPool.draw(page);
      if (outcome.kind !== 'withdrawn') return { outcome, pool: commonPool };
    }
    return { outcome: await drawSlowly(page), pool: slowPool };
  }

  function begin({
    signal: client,
    work,
    param = 'templateId',
    ...drawing
  }: RenderRequest): Work<RenderedPage> {
    const { accountId, deadlineMs } = drawing;
    const { onDrawing, late } = lateness(clock, () => commonPool.retryAfterSeconds());
    const deadline = deadlineOf({ deadlineMs, work, client, clock, late });
    const page: PageToDraw = {
      accountId,
      work,
      signal: deadline.signal,
      waiting: deadline.waiting,
      onDrawing,
      task: () => ({ kind: 'render', ...drawing, deadlineMs: deadline.deadlineMs() }),
    };
    const drawn = drawIn(page);

    async function run(): Promise<RenderedPage> {
      const { outcome, pool } = await unlessAborted(drawn, deadline.signal);
      if (outcome.kind === 'answered') return requirePage(outcome.answer, outcome.queueMs, { param, late });
      throw stoppedForOthers(fairDrawingMs, pool.retryAfterSeconds());
    }

    const result = run().catch(rethrow).finally(deadline.end);
    const ended = result
      .then(ignore, ignore)
      .then(() => drawn)
      .then(ignore, ignore);
    return { result, ended };
  }

  return {
    begin,
    render: (request) => begin(request).result,
    stats() {
      const [common, slow] = [commonPool.stats(), slowPool.stats()];
      return {
        threads: commonPool.threads().length,
        busy: common.busy + slow.busy,
        waiting: common.waiting + slow.waiting,
      };
    },
    isSandboxed: () => isSandboxed,
    resize(count) {
      const threads = commonPool.threads();
      const more = Array.from({ length: Math.max(0, count - threads.length) }, () => newThread());
      commonPool.resize([...threads.slice(0, count), ...more]);
    },
    async close() {
      await Promise.all([commonPool.idle(), slowPool.idle()]);
      cancelIdleStop?.();
      await Promise.all([...commonPool.threads(), slowThread, standby].map((thread) => thread.stop()));
    },
  };
}

/** Whether the next page of the account has to be isolated, too. */
function tookLong(outcome: PoolOutcome): boolean {
  if (outcome.kind !== 'answered' || outcome.answer.kind !== 'rendered') return false;
  const { decodeMs, processMs } = outcome.answer.timings;
  return decodeMs + processMs >= LONG_MS;
}

function ignore(): void {}

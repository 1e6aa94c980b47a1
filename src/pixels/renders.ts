import type { RenderAnswer, RenderFailure, RenderTask, Timings } from '../../workers/protocol.ts';
import { ApiError, invalidParam } from '../http/errors.ts';
import type { AdmissionStats, WorkClass } from './admission.ts';
import { systemClock } from './clock.ts';
import { patienceUntil, unlessAborted } from './patience.ts';
import type { Work } from './pixels.ts';
import { createRenderLane, type LaneOutcome, type LanePage, type RenderLane } from './render-lane.ts';
import { createRenderThread, LostThreadError, type RenderLog } from './render-thread.ts';
import { createSlowAccounts } from './slow-accounts.ts';

export interface RendersOptions {
  /** RENDER_THREADS. */
  threads: number;
  /** RENDER_QUEUE. */
  queueLimit: number;
  /** BROWSER_PATH; empty to look for a browser. */
  browserPath: string;
  /** Where the bundled browser is unpacked when the machine has none. */
  cacheDir: string;
  /** RENDER_RECYCLE_PAGES. */
  recycleAfterPages: number;
  /** RENDER_MEMORY_MEGABYTES, in bytes. */
  recycleAboveBytes: number;
  /** RENDER_SANDBOX. */
  sandbox: 'auto' | 'required';
  /** Whether the host lets a browser have its sandbox, as far as it is known before one was started. */
  sandboxed: boolean;
  /** How long a page is drawn while pages of other accounts wait; absent: 5 s. */
  fairDrawingMs?: number;
  log: RenderLog;
}

export interface RenderRequest {
  /** Whole document, every placeholder filled. */
  html: string;
  width: number;
  height: number;
  accountId: string;
  /** Jobs give way to calls and wait without end. Absent: a call. */
  work?: WorkClass;
  /** Assets that the page may load, by id: One that is not here does not load. */
  assets: RenderTask['assets'];
  /** Epoch milliseconds. A job's deadline moves by the time that it waits. */
  deadlineMs: number;
  /** Ends the waiting, and the page itself, when nobody wants the picture any more. */
  signal?: AbortSignal;
}

export interface RenderedPage {
  /** PNG of exactly width × height. */
  data: Uint8Array<ArrayBuffer>;
  contentType: 'image/png';
  width: number;
  height: number;
  timings: Timings & { queueMs: number };
}

export interface RendersStats extends Pick<AdmissionStats, 'busy' | 'waiting'> {
  threads: number;
}

/** The one door to the render threads and their browsers. */
export interface Renders {
  /**
   * Draws a page. A page of one account never shares a browser context with another account's. While pages of other
   * accounts wait it is drawn for 5 s at most; an account whose page was stopped is drawn apart for the next minute, one
   * page at a time.
   *
   * The result rejects with invalid_param on templateId when the document does not finish loading; provider_unavailable (details.reason
   * capacity, deadline_exceeded, worker_unreachable; with Retry-After); the signal's reason when it aborts.
   */
  begin(request: RenderRequest): Work<RenderedPage>;
  /** `begin().result`, for callers that hold nothing until the work has ended. */
  render(request: RenderRequest): Promise<RenderedPage>;
  /** Starts the browsers ahead of the first render. When none can start, the log says how to get one, and this resolves. */
  warm(): Promise<void>;
  stats(): RendersStats;
  /** False where the browser has no sandbox. */
  isSandboxed(): boolean;
  /** Changes the number of render threads of this process, without a failed render. */
  resize(threads: number): void;
  /** Waits for the renders under way, then ends browsers and threads. */
  close(): Promise<void>;
}

/** In a thread one page is drawn while the one before it is encoded. */
const SEATS_PER_THREAD = 2;
/** How long a page is drawn while pages of other accounts wait. */
const FAIR_DRAWING_MS = 5_000;
/** The browser of the slow lane ends when nobody needed it for so long. */
const SLOW_LANE_IDLE_MS = 60_000;
/** The slow lane gives way: others have the CPU first. */
const SLOW_NICENESS = 10;
const WARM_TIMEOUT_MS = 90_000;
/** A browser that an operator has to install is not there in a second. */
const NO_BROWSER_RETRY_SECONDS = 60;

export function createRenders(options: RendersOptions): Renders {
  const { log, queueLimit, fairDrawingMs = FAIR_DRAWING_MS } = options;
  const { browserPath, cacheDir, sandbox, recycleAfterPages, recycleAboveBytes } = options;
  const browser = { browserPath, cacheDir, sandbox, recycleAfterPages, recycleAboveBytes };
  let isSandboxed = options.sandboxed;
  const onUnsandboxed = () => {
    isSandboxed = false;
  };
  const newThread = (niceness?: number) =>
    createRenderThread({ ...browser, ...(niceness && { niceness }) }, { log, onUnsandboxed });
  let threads = Array.from({ length: options.threads }, () => newThread());
  const slowThread = newThread(SLOW_NICENESS);
  const slowAccounts = createSlowAccounts();
  let slowLaneIdle: (() => void) | undefined;
  let slowLaneRests: Promise<void> = Promise.resolve();

  function onStopped(accountId: string): void {
    slowAccounts.mark(accountId, Date.now());
    commonLane.withdraw(accountId);
  }
  const commonLane = createRenderLane({
    threads,
    seatsPerThread: SEATS_PER_THREAD,
    queueLimit,
    fairDrawingMs,
    onStopped,
  });
  /** Where accounts go whose page was stopped: one browser, one page at a time, apart from those of others. */
  const slowLane = createRenderLane({
    threads: [slowThread],
    seatsPerThread: 1,
    queueLimit,
    fairDrawingMs,
    onStopped,
  });

  async function drawSlowly(page: LanePage): Promise<LaneOutcome> {
    slowLaneIdle?.();
    await slowLaneRests;
    try {
      return await slowLane.draw(page);
    } finally {
      slowLaneIdle?.();
      slowLaneIdle = systemClock.after(SLOW_LANE_IDLE_MS, () => {
        slowLaneRests = slowThread.rest();
      });
    }
  }

  async function drawIn(page: LanePage): Promise<{ outcome: LaneOutcome; lane: RenderLane }> {
    if (!slowAccounts.has(page.accountId, Date.now())) {
      const outcome = await commonLane.draw(page);
      if (outcome.kind !== 'withdrawn') return { outcome, lane: commonLane };
    }
    return { outcome: await drawSlowly(page), lane: slowLane };
  }

  function begin({ html, signal: client, work, ...drawing }: RenderRequest): Work<RenderedPage> {
    const { accountId, deadlineMs } = drawing;
    const { onTurn, late } = lateness(() => commonLane.retryAfterSeconds());
    const patience = patienceUntil({ deadlineMs, work, client, clock: systemClock, late });
    const page: LanePage = {
      accountId,
      work,
      signal: patience.signal,
      waiting: patience.waiting,
      onTurn,
      task: () => ({
        kind: 'render',
        html,
        ...drawing,
        deadlineMs: patience.deadlineMs(),
      }),
    };
    const drawn = drawIn(page);

    async function run(): Promise<RenderedPage> {
      const { outcome, lane } = await unlessAborted(drawn, patience.signal);
      if (outcome.kind === 'answered') return pageOf(outcome.answer, outcome.queueMs, late);
      throw madeRoom(fairDrawingMs, lane.retryAfterSeconds());
    }

    const result = run().catch(rethrown).finally(patience.end);
    const ended = result
      .then(ignore, ignore)
      .then(() => drawn)
      .then(ignore, ignore);
    return { result, ended };
  }

  return {
    begin,
    render: (request) => begin(request).result,
    async warm() {
      await Promise.allSettled(
        threads.map((thread) => thread.call({ kind: 'warm' }, Date.now() + WARM_TIMEOUT_MS)),
      );
    },
    stats() {
      const [common, slow] = [commonLane.stats(), slowLane.stats()];
      return {
        threads: threads.length,
        busy: common.busy + slow.busy,
        waiting: common.waiting + slow.waiting,
      };
    },
    isSandboxed: () => isSandboxed,
    resize(count) {
      const more = Array.from({ length: Math.max(0, count - threads.length) }, () => newThread());
      threads = [...threads.slice(0, count), ...more];
      commonLane.resize(threads);
    },
    async close() {
      await Promise.all([commonLane.idle(), slowLane.idle()]);
      slowLaneIdle?.();
      await Promise.all([...threads, slowThread].map((thread) => thread.stop()));
    },
  };
}

/** What a page past its deadline is refused with: whether the renderer had no time for it, or it took its time. */
function lateness(retryAfterSeconds: () => number): { onTurn: () => void; late: () => ApiError } {
  const cameMs = Date.now();
  let turnMs = Number.POSITIVE_INFINITY;
  return {
    onTurn() {
      turnMs = Date.now();
    },
    late() {
      const drewLongerThanItWaited = Date.now() - turnMs > turnMs - cameMs;
      return drewLongerThanItWaited
        ? deadlineExceeded(retryAfterSeconds())
        : rendererBusy(retryAfterSeconds());
    },
  };
}

/** What a lane throws is complete, but for a thread that was lost. */
function rethrown(error: unknown): never {
  if (!(error instanceof LostThreadError)) throw error;
  throw unavailable('worker_unreachable', 'The renderer was lost; make the same call again.', 1, error);
}

function ignore(): void {}

function pageOf(answer: RenderAnswer, queueMs: number, late: () => ApiError): RenderedPage {
  if (answer.kind === 'rendered') {
    const { data, contentType, width, height, timings } = answer;
    return { data, contentType, width, height, timings: { ...timings, queueMs } };
  }
  if (answer.kind === 'render_failure') throw refusalOf(answer, late);
  throw new Error('A render thread answered a render with something else.');
}

function refusalOf({ reason, message }: RenderFailure, late: () => ApiError): ApiError {
  switch (reason) {
    case 'load':
      return invalidParam('templateId', `The renderer could not load this template: ${message}`);
    case 'deadline':
      return late();
    case 'crash':
      return unavailable(
        'worker_unreachable',
        'The browser was lost with the page; make the same call again.',
        1,
      );
    case 'no_browser':
      return unavailable(
        'worker_unreachable',
        'This server has no browser that starts, so it renders nothing; its log tells the operator how to mend that.',
        NO_BROWSER_RETRY_SECONDS,
      );
  }
}

function deadlineExceeded(retryAfterSeconds: number): ApiError {
  return unavailable(
    'deadline_exceeded',
    'The page was not drawn in time; make it simpler, or make the same call again later.',
    retryAfterSeconds,
  );
}

function rendererBusy(retryAfterSeconds: number): ApiError {
  return unavailable(
    'capacity',
    'The renderer was busy with other pages until the time of this one was over; make the same call again later.',
    retryAfterSeconds,
  );
}

function madeRoom(drawnMs: number, retryAfterSeconds: number): ApiError {
  return unavailable(
    'capacity',
    `The page was stopped after ${drawnMs / 1000} s of drawing, because others waited: make it simpler, or make the same call again later.`,
    retryAfterSeconds,
  );
}

function unavailable(reason: string, message: string, retryAfterSeconds: number, cause?: unknown): ApiError {
  return new ApiError('provider_unavailable', message, { details: { reason }, retryAfterSeconds, cause });
}

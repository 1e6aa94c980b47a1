import type { RenderAnswer, RenderFailure, RenderTask, Timings } from '../../workers/protocol.ts';
import { ApiError, invalidParam } from '../http/errors.ts';
import { type AdmissionStats, createAdmission, type Seat, type WorkClass } from './admission.ts';
import { withAssetScheme } from './asset-references.ts';
import { systemClock } from './clock.ts';
import { patienceUntil, unlessAborted } from './patience.ts';
import type { Work } from './pixels.ts';
import { type CallTies, createRenderThread, type RenderLog } from './render-thread.ts';

export { assetIdsIn } from './asset-references.ts';

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
  /** PUBLIC_URL: addresses below it name the service's own assets. */
  publicUrl: string;
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
  /** Assets that the page may load, by id: see assetIdsIn. One that is not here does not load. */
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
   * Draws a page. A page of one account never shares a browser context with another account's.
   *
   * The result rejects with invalid_param on templateId when the document does not finish loading; provider_unavailable (details.reason
   * capacity, deadline_exceeded, worker_unreachable; with Retry-After); the signal's reason when it aborts.
   */
  begin(request: RenderRequest): Work<RenderedPage>;
  /** The result alone, for whoever gives nothing back when the work has ended. */
  render(request: RenderRequest): Promise<RenderedPage>;
  /** Starts the browsers ahead of the first render. When none can start, the log says how to get one, and this resolves. */
  warm(): Promise<void>;
  stats(): RendersStats;
  /** Waits for the renders under way, then ends browsers and threads. */
  close(): Promise<void>;
}

/** In a thread one page is drawn while the one before it is encoded. */
const SEATS_PER_THREAD = 2;
const WARM_TIMEOUT_MS = 90_000;
/** A browser that an operator has to install is not there in a second. */
const NO_BROWSER_RETRY_SECONDS = 60;

export function createRenders(options: RendersOptions): Renders {
  const { publicUrl, log, queueLimit, ...threadOptions } = options;
  const threads = Array.from({ length: options.threads }, () => createRenderThread(threadOptions, log));
  // Memory is bounded by the number of browsers, which draw a page at a time: nothing to reserve here.
  const admission = createAdmission({
    seats: options.threads * SEATS_PER_THREAD,
    budgetBytes: Number.MAX_SAFE_INTEGER,
    queueLimit,
  });

  /** The seat stays taken until the thread has really answered, however long its caller waits. */
  async function draw(task: RenderTask, seat: Seat, ties: CallTies): Promise<RenderAnswer> {
    const thread = threads.reduce((least, other) => (other.busy < least.busy ? other : least));
    try {
      return await thread.call(task, task.deadlineMs, ties);
    } catch (error) {
      throw unavailable('worker_unreachable', 'The renderer was lost; make the same call again.', 1, error);
    } finally {
      seat.release();
    }
  }

  /** What a page past its deadline is told: whether the renderer had no time for it, or it took its time. */
  function lateness(): { onTurn: () => void; late: () => ApiError } {
    const cameMs = Date.now();
    let turnMs = Number.POSITIVE_INFINITY;
    return {
      onTurn() {
        turnMs = Date.now();
      },
      late() {
        const retryAfterSeconds = admission.retryAfterSeconds();
        const drewLongerThanItWaited = Date.now() - turnMs > turnMs - cameMs;
        return drewLongerThanItWaited ? deadlineExceeded(retryAfterSeconds) : rendererBusy(retryAfterSeconds);
      },
    };
  }

  function begin({ html, signal: client, work, ...page }: RenderRequest): Work<RenderedPage> {
    const { accountId, deadlineMs } = page;
    const { onTurn, late } = lateness();
    const patience = patienceUntil({ deadlineMs, work, client, clock: systemClock, late });
    let drawing: Promise<unknown> = Promise.resolve();

    async function run(): Promise<RenderedPage> {
      const { signal, waiting } = patience;
      const seat = await waiting(admission.acquire({ accountId, work, bytes: 0, signal }));
      if (patience.signal.aborted) {
        seat.release();
        throw patience.signal.reason;
      }
      const task: RenderTask = {
        kind: 'render',
        html: withAssetScheme(html, publicUrl),
        ...page,
        deadlineMs: patience.deadlineMs(),
      };
      const answer = draw(task, seat, { client, onTurn });
      drawing = answer;
      return pageOf(await unlessAborted(answer, patience.signal), seat.queueMs, late);
    }

    const result = run().finally(patience.end);
    const ended = result
      .then(ignore, ignore)
      .then(() => drawing)
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
      const { busy, waiting } = admission.stats();
      return { threads: options.threads, busy, waiting };
    },
    async close() {
      await admission.idle();
      await Promise.all(threads.map((thread) => thread.stop()));
    },
  };
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

function unavailable(reason: string, message: string, retryAfterSeconds: number, cause?: unknown): ApiError {
  return new ApiError('provider_unavailable', message, { details: { reason }, retryAfterSeconds, cause });
}

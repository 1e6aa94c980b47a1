import sharp, { type Sharp } from 'sharp';
import { canBeTransparent, contentTypeOf, encodeWith } from '../image/encode/encoder.ts';
import { rejectOnAbort } from '../transport/abort.ts';
import { encodeOutput } from '../transport/output.ts';
import { BrowserStartError } from './browser.ts';
import { NoBrowserError } from './executable.ts';
import type { BrowserKeeper, MemoryExcess } from './keeper.ts';
import { type PageCapture, PageLoadError } from './page.ts';
import type { PageEncodeOptions, RenderClient, RenderFailure, RenderResult, RenderTask } from './protocol.ts';

sharp.concurrency(1);
sharp.cache(false);

/**
 * The milliseconds that a page may still take after its client has gone. Most pages finish sooner than a browser is
 * replaced.
 */
const ABANDONED_GRACE_MS = 200;

/** The drawing time after which the memory of the browser is watched. Most pages are drawn sooner. */
const MEMORY_WATCH_DELAY_MS = 300;
const MEMORY_WATCH_INTERVAL_MS = 200;

class AbandonedError extends Error {
  override readonly name = 'AbandonedError';
}

/** The browser holds more memory than it may. */
class MemoryExcessError extends Error {
  override readonly name = 'MemoryExcessError';
  readonly excess: MemoryExcess;

  constructor(excess: MemoryExcess) {
    super(`The browser holds more than ${excess.limitBytes} bytes of memory.`);
    this.excess = excess;
  }
}

/**
 * Returns a function that draws one page at a time, because a browser that is killed at a page's deadline loses every
 * page in it. The next page is drawn while a picture is encoded. The function never rejects, and each call ends soon
 * after its deadline.
 */
export function createRenderer(keeper: BrowserKeeper) {
  let lastWork: Promise<unknown> = Promise.resolve();

  async function draw(task: RenderTask, { clientGone, onDrawing }: RenderClient): Promise<PageCapture> {
    if (clientGone.aborted) throw new AbandonedError('Nobody waits for the page any more.');
    if (Date.now() >= task.deadlineMs) throw new AbandonedError('The page waited past its deadline.');
    const ending = startDrawingLimits(task.deadlineMs, clientGone);
    const work = keeper.openPage(task.accountId).then((page) => {
      // The client may have gone, or the deadline passed, while the browser started.
      ending.signal.throwIfAborted();
      onDrawing();
      ending.watchMemory(keeper);
      return page.draw(task);
    });
    try {
      return await rejectOnAbort(work, ending.signal);
    } catch (error) {
      // After any error the next page gets a new browser.
      if (!isBrowserUnavailable(error)) await keeper.kill();
      throw error;
    } finally {
      ending.stopTimers();
    }
  }

  /**
   * Draws a page. If the browser may be the cause of a failure, draws it a second time in a new browser: the document
   * did not load, or earlier pages still hold memory.
   */
  function drawWithRetry(task: RenderTask, client: RenderClient): Promise<PageCapture> {
    return draw(task, client).catch((error) => {
      const mayBeInherited = error instanceof MemoryExcessError && !error.excess.isFirstPage;
      if (error instanceof PageLoadError || mayBeInherited) return draw(task, client);
      throw error;
    });
  }

  return async function render(task: RenderTask, client: RenderClient): Promise<RenderResult> {
    const drawn = lastWork.then(() => drawWithRetry(task, client));
    lastWork = drawn.then(() => keeper.recycleIfWorn()).catch(() => {});
    try {
      const { png, loadMs, captureMs, text } = await drawn;
      if (client.clientGone.aborted) throw new AbandonedError('Nobody waits for the picture any more.');
      const startedMs = performance.now();
      const { encode = { format: 'png' as const } } = task;
      const { data, info } = await encodeOutput(encodingPipelineOf(png, encode));
      const encodeMs = performance.now() - startedMs;
      const { width, height } = info;
      const contentType = contentTypeOf(encode.format);
      const timings = { decodeMs: loadMs, processMs: captureMs, encodeMs };
      return { kind: 'rendered', data, contentType, width, height, timings, text };
    } catch (error) {
      return failureOf(error);
    }
  };
}

/** Encodes the picture of a page. It is laid on white if the format has no transparency. */
function encodingPipelineOf(png: Buffer, encode: PageEncodeOptions): Sharp {
  const picture = sharp(png);
  if (encode.format === 'png') return picture.png();
  const flattened = canBeTransparent(encode) ? picture : picture.flatten({ background: '#ffffff' });
  // A page is mostly text, whose edges chroma subsampling would blur.
  const size = { width: 1, height: 1, frames: 1 };
  return encodeWith(flattened, { ...encode, chroma: '4:4:4' }, {}, size);
}

/** The limits of time and memory at which a drawing is ended. */
interface DrawingLimits {
  /** Aborts with an AbandonedError or a MemoryExcessError. */
  signal: AbortSignal;
  /** Watches the memory of the browser, and ends the drawing if the browser holds too much. */
  watchMemory(keeper: BrowserKeeper): void;
  stopTimers(): void;
}

function startDrawingLimits(deadlineMs: number, clientGone: AbortSignal): DrawingLimits {
  const controller = new AbortController();
  const end = (message: string) => controller.abort(new AbandonedError(message));
  const timers: NodeJS.Timeout[] = [
    setTimeout(end, Math.max(0, deadlineMs - Date.now()), 'The page was not drawn before its deadline.'),
  ];
  const leave = () => timers.push(setTimeout(end, ABANDONED_GRACE_MS, 'Nobody waits for the page any more.'));
  clientGone.addEventListener('abort', leave, { once: true });
  return {
    signal: controller.signal,
    watchMemory(keeper) {
      const look = () => {
        const excess = keeper.memoryExcess();
        if (excess !== null) controller.abort(new MemoryExcessError(excess));
      };
      const begin = () => {
        keeper.preferForOomKill();
        look();
        timers.push(setInterval(look, MEMORY_WATCH_INTERVAL_MS));
      };
      timers.push(setTimeout(begin, MEMORY_WATCH_DELAY_MS));
    },
    stopTimers() {
      clientGone.removeEventListener('abort', leave);
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

function isBrowserUnavailable(error: unknown): boolean {
  return error instanceof NoBrowserError || error instanceof BrowserStartError;
}

function failureOf(error: unknown): RenderFailure {
  const message = error instanceof Error ? error.message : String(error);
  const limit = error instanceof MemoryExcessError && { limitBytes: error.excess.limitBytes };
  return { kind: 'render_failure', reason: failureReasonOf(error), message, ...limit };
}

function failureReasonOf(error: unknown): RenderFailure['reason'] {
  if (error instanceof AbandonedError) return 'deadline';
  if (error instanceof PageLoadError) return 'load';
  if (error instanceof MemoryExcessError) return 'memory';
  return isBrowserUnavailable(error) ? 'no_browser' : 'crash';
}

import sharp from 'sharp';
import type { RenderFailure, RenderResult, RenderTask } from '../protocol.ts';
import { StartError } from './browser.ts';
import { NoBrowserError } from './executable.ts';
import type { BrowserKeeper } from './keeper.ts';
import { LoadError } from './page.ts';

sharp.concurrency(1);
sharp.cache(false);

class LateError extends Error {
  override readonly name = 'LateError';
}

interface Drawn {
  png: Buffer;
  loadMs: number;
  captureMs: number;
}

export interface Renderer {
  render(task: RenderTask): Promise<RenderResult>;
  warm(): Promise<{ kind: 'done' } | RenderFailure>;
}

/**
 * Draws one page at a time, because a browser that is killed at a page's deadline takes every page in it along. While a
 * picture is encoded the next page is already drawn. Neither call rejects, and each ends soon after its deadline.
 */
export function createRenderer(keeper: BrowserKeeper): Renderer {
  let lastTurn: Promise<unknown> = Promise.resolve();

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = lastTurn.then(work);
    lastTurn = turn.then(() => keeper.recycle()).catch(() => {});
    return turn;
  }

  async function draw(task: RenderTask): Promise<Drawn> {
    if (Date.now() >= task.deadlineMs) throw new LateError('The page waited past its deadline.');
    const work = keeper.pageOf(task.accountId).then((page) => page.draw(task));
    return beforeDeadline(work, task.deadlineMs).catch(async (error) => {
      // Whatever went wrong, the next page gets a browser that nothing went wrong in.
      if (!isNoBrowser(error)) await keeper.kill();
      throw error;
    });
  }

  /** A document that does not load is tried in a second browser: it may have been the first that failed. */
  function drawTwice(task: RenderTask): Promise<Drawn> {
    return draw(task).catch((error) => {
      if (error instanceof LoadError) return draw(task);
      throw error;
    });
  }

  return {
    async render(task) {
      try {
        const { png, loadMs, captureMs } = await inTurn(() => drawTwice(task));
        const startedMs = performance.now();
        const data = (await sharp(png).png().toUint8Array()).data as Uint8Array<ArrayBuffer>;
        const encodeMs = performance.now() - startedMs;
        const { width, height } = task;
        const timings = { decodeMs: loadMs, processMs: captureMs, encodeMs };
        return { kind: 'rendered', data, contentType: 'image/png', width, height, timings };
      } catch (error) {
        return failureOf(error);
      }
    },
    warm: () =>
      keeper.warm().then(
        () => ({ kind: 'done' }),
        (error) => failureOf(error),
      ),
  };
}

/** The work's outcome, or LateError at the deadline. What is late goes on until the browser under it is killed. */
async function beforeDeadline<T>(work: Promise<T>, deadlineMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const end = () => reject(new LateError('The page was not drawn before its deadline.'));
    timer = setTimeout(end, Math.max(0, deadlineMs - Date.now()));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function isNoBrowser(error: unknown): boolean {
  return error instanceof NoBrowserError || error instanceof StartError;
}

function failureOf(error: unknown): RenderFailure {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof LateError) return { kind: 'render_failure', reason: 'deadline', message };
  if (error instanceof LoadError) return { kind: 'render_failure', reason: 'load', message };
  if (isNoBrowser(error)) return { kind: 'render_failure', reason: 'no_browser', message };
  return { kind: 'render_failure', reason: 'crash', message };
}

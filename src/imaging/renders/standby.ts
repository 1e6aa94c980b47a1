import type { Clock } from '../../platform/clock.ts';
import type { RenderThread } from './thread.ts';

/**
 * A render thread with a browser that is ready to replace one that a slow page blocks. With it the pages of others wait
 * 0.3 to 2 s for such a page, and it is drawn elsewhere; without it they wait 5 s, and it is refused.
 */
interface Standby {
  /**
   * Returns the thread that replaces the slow one, which becomes the next standby as soon as its pages have ended.
   * Returns null while there is none; it is then started, and `onReady` reports it.
   */
  relieve(slow: RenderThread): RenderThread | null;
  /** Ends the browser, then the thread. */
  stop(): Promise<void>;
}

interface StandbyOptions {
  newThread: () => RenderThread;
  clock: Clock;
  onReady: () => void;
}

/** Time without a slow page after which the browser ends, because it holds 150 MB. */
const IDLE_MS = 300_000;
/** The longest start of a browser. */
const WARM_TIMEOUT_MS = 90_000;

/** Nothing is started before it is needed, so only the first waiting page waits for a browser to start. */
export function createStandby({ newThread, clock, onReady }: StandbyOptions): Standby {
  let thread = newThread();
  let state: 'cold' | 'warming' | 'ready' = 'cold';
  let cancelIdleStop: (() => void) | undefined;
  let stopped: Promise<void> = Promise.resolve();

  /**
   * Starts the browser. A thread that still draws answers once that page has ended, and after another browser has
   * started where one was needed.
   */
  async function warm(): Promise<void> {
    if (state !== 'cold') return;
    state = 'warming';
    await stopped;
    const answer = await thread
      .call({ kind: 'warm' }, clock.nowMs() + WARM_TIMEOUT_MS)
      .catch(() => ({ kind: 'lost' }));
    state = answer.kind === 'done' ? 'ready' : 'cold';
    if (state === 'ready') onReady();
  }

  function stopIdle(): void {
    state = 'cold';
    stopped = thread.stopIfIdle();
  }

  return {
    relieve(slow) {
      cancelIdleStop?.();
      cancelIdleStop = clock.after(IDLE_MS, stopIdle);
      const relief = state === 'ready' ? thread : null;
      if (relief !== null) {
        thread = slow;
        state = 'cold';
      }
      void warm();
      return relief;
    },
    async stop() {
      cancelIdleStop?.();
      await stopped;
      await thread.stop();
    },
  };
}

import type { Clock } from '../../platform/clock/clock.ts';
import type { RenderThread } from './thread.ts';

/** A render thread with a browser that waits to take the place of one that is held up. */
export interface Standby {
  /**
   * Answers the thread that takes the place of the tired one, which becomes the next standby as soon as it has ended its pages.
   * Null while there is none: it is started then, and `onReady` tells of it.
   */
  relieve(tired: RenderThread): RenderThread | null;
  /** Ends the browser, then the thread. */
  stop(): Promise<void>;
}

export interface StandbyOptions {
  newThread: () => RenderThread;
  clock: Clock;
  onReady: () => void;
}

/** A browser holds 150 MB: it ends when no page was slow for so long. */
const IDLE_MS = 300_000;
const WARM_TIMEOUT_MS = 90_000;

/** Nothing is started before it is needed: only the first page that waits, waits for a browser to start. */
export function createStandby({ newThread, clock, onReady }: StandbyOptions): Standby {
  let thread = newThread();
  let state: 'cold' | 'warming' | 'ready' = 'cold';
  let stopIdling: (() => void) | undefined;
  let rested: Promise<void> = Promise.resolve();

  /** A thread that still draws answers once it has ended that page, and started another browser where it had to. */
  async function warm(): Promise<void> {
    if (state !== 'cold') return;
    state = 'warming';
    await rested;
    const answer = await thread
      .call({ kind: 'warm' }, clock.nowMs() + WARM_TIMEOUT_MS)
      .catch(() => ({ kind: 'lost' }));
    state = answer.kind === 'done' ? 'ready' : 'cold';
    if (state === 'ready') onReady();
  }

  function rest(): void {
    state = 'cold';
    rested = thread.rest();
  }

  return {
    relieve(tired) {
      stopIdling?.();
      stopIdling = clock.after(IDLE_MS, rest);
      const relief = state === 'ready' ? thread : null;
      if (relief !== null) {
        thread = tired;
        state = 'cold';
      }
      void warm();
      return relief;
    },
    async stop() {
      stopIdling?.();
      await rested;
      await thread.stop();
    },
  };
}

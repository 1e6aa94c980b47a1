import type { Clock } from '../../platform/clock.ts';
import type { RenderThread } from './thread.ts';

interface StandbyOptions {
  newThread: () => RenderThread;
  clock: Clock;
  onReady: () => void;
}

/** Time without a slow page after which the standby browser ends, because it holds 150 MB. */
const IDLE_MS = 300_000;
/** The longest start of a browser. */
const WARM_TIMEOUT_MS = 90_000;

/**
 * A render thread on standby, whose browser is ready to replace one that a slow page blocks. With it, pages of others
 * wait 0.3 to 2 s for a slow page, which is drawn elsewhere. Without it they wait 5 s, and the slow page is refused. It
 * starts only when it is first needed, so only the first waiting page waits for a browser to start.
 */
export class StandbyRenderThread {
  readonly #clock: Clock;
  readonly #onReady: () => void;
  #thread: RenderThread;
  #state: 'cold' | 'warming' | 'ready' = 'cold';
  #cancelIdleStop: (() => void) | undefined;
  #stopped: Promise<void> = Promise.resolve();

  constructor({ newThread, clock, onReady }: StandbyOptions) {
    this.#clock = clock;
    this.#onReady = onReady;
    this.#thread = newThread();
  }

  /**
   * Returns the thread that replaces the slow one. The slow one becomes the next standby as soon as its pages have
   * ended. Returns null while no standby is ready; it is then started, and `onReady` is called when it is.
   */
  readonly relieve = (slow: RenderThread): RenderThread | null => {
    this.#cancelIdleStop?.();
    this.#cancelIdleStop = this.#clock.after(IDLE_MS, this.#stopIdle);
    const relief = this.#state === 'ready' ? this.#thread : null;
    if (relief !== null) {
      this.#thread = slow;
      this.#state = 'cold';
    }
    void this.#warm();
    return relief;
  };

  /** Ends the browser, then the thread. */
  async stop(): Promise<void> {
    this.#cancelIdleStop?.();
    await this.#stopped;
    await this.#thread.stop();
  }

  /**
   * Starts the browser. A thread that still draws answers only when its page has ended and a new browser has started,
   * if one was needed.
   */
  async #warm(): Promise<void> {
    if (this.#state !== 'cold') return;
    this.#state = 'warming';
    await this.#stopped;
    const answer = await this.#thread
      .call({ kind: 'warm' }, this.#clock.nowMs() + WARM_TIMEOUT_MS)
      .catch(() => ({ kind: 'lost' }));
    this.#state = answer.kind === 'done' ? 'ready' : 'cold';
    if (this.#state === 'ready') this.#onReady();
  }

  readonly #stopIdle = (): void => {
    this.#state = 'cold';
    this.#stopped = this.#thread.stopIfIdle();
  };
}

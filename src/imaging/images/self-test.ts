import type { ImagePass } from '../../../workers/protocol.ts';
import type { Clock } from '../../platform/clock.ts';

/** A transform with very little work, by which the threads are tested. */
interface TinyCall {
  bytes: Uint8Array<ArrayBuffer>;
  accountId: string;
  deadlineMs: number;
  pass: ImagePass;
}

const TINY_GIF = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
const TINY_CALL_TIMEOUT_MS = 10_000;
/** For this long, a response proves that the threads work. */
const SELF_TEST_TTL_MS = 5_000;

/** Finds out whether the threads work. */
export class SelfTest {
  readonly #clock: Clock;
  readonly #transform: (call: TinyCall) => Promise<unknown>;
  #lastAnswerMs = Number.NEGATIVE_INFINITY;
  #testing: Promise<void> | null = null;

  constructor(clock: Clock, transform: (call: TinyCall) => Promise<unknown>) {
    this.#clock = clock;
    this.#transform = transform;
  }

  /** Records that a call was answered, which proves for a few seconds that the threads work. */
  recordAnswer(): void {
    this.#lastAnswerMs = this.#clock.elapsedMs();
  }

  /**
   * Resolves when the threads work; otherwise rejects with the error of the tiny transform. Concurrent runs share one
   * transform.
   */
  async run(): Promise<void> {
    if (this.#clock.elapsedMs() - this.#lastAnswerMs < SELF_TEST_TTL_MS) return;
    this.#testing ??= this.#test();
    return this.#testing;
  }

  async #test(): Promise<void> {
    try {
      await this.#transform(createTinyCall(this.#clock.nowMs()));
    } finally {
      this.#testing = null;
    }
  }
}

function createTinyCall(nowMs: number): TinyCall {
  return {
    bytes: Uint8Array.from(Buffer.from(TINY_GIF, 'base64')),
    accountId: 'self-test',
    deadlineMs: nowMs + TINY_CALL_TIMEOUT_MS,
    pass: { decode: {}, steps: [], encode: { format: 'png' } },
  };
}

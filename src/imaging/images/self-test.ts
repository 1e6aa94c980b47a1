import type { Pass } from '../../../workers/protocol.ts';
import type { Clock } from '../../platform/clock.ts';

/** A call that asks for next to nothing. */
interface TinyCall {
  bytes: Uint8Array<ArrayBuffer>;
  accountId: string;
  deadlineMs: number;
  pass: Pass;
}

const TINY_GIF = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
const TINY_DEADLINE_MS = 10_000;
/** How long an answer proves that the threads work. */
const PROOF_TTL_MS = 5_000;

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

  /** Records that a call was answered, which proves the same for a few seconds. */
  answered(): void {
    this.#lastAnswerMs = this.#clock.elapsedMs();
  }

  /** Resolves when they work; otherwise rejects as the tiny call does. Concurrent runs share one call. */
  async run(): Promise<void> {
    if (this.#clock.elapsedMs() - this.#lastAnswerMs < PROOF_TTL_MS) return;
    this.#testing ??= this.#test();
    return this.#testing;
  }

  async #test(): Promise<void> {
    try {
      await this.#transform(tinyCall(this.#clock.nowMs()));
    } finally {
      this.#testing = null;
    }
  }
}

function tinyCall(nowMs: number): TinyCall {
  return {
    bytes: Uint8Array.from(Buffer.from(TINY_GIF, 'base64')),
    accountId: 'self-test',
    deadlineMs: nowMs + TINY_DEADLINE_MS,
    pass: { decode: {}, steps: [], encode: { format: 'png' } },
  };
}

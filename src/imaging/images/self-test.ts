import type { Pass } from '../../../workers/protocol.ts';
import type { Clock } from '../../platform/clock.ts';

/** A call that asks for next to nothing. */
interface TinyCall {
  bytes: Uint8Array<ArrayBuffer>;
  accountId: string;
  deadlineMs: number;
  pass: Pass;
}

/** Finds out whether the threads work. */
interface SelfTest {
  /** Records that a call was answered, which proves the same for a few seconds. */
  answered(): void;
  /** Resolves when they work; otherwise rejects as the tiny call does. Concurrent runs share one call. */
  run(): Promise<void>;
}

const TINY_GIF = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
const TINY_DEADLINE_MS = 10_000;
/** How long an answer proves that the threads work. */
const PROOF_MS = 5_000;

export function createSelfTest(clock: Clock, transform: (call: TinyCall) => Promise<unknown>): SelfTest {
  let lastAnswerMs = Number.NEGATIVE_INFINITY;
  let testing: Promise<void> | null = null;

  async function testOnce(): Promise<void> {
    try {
      await transform(tinyCall(clock.nowMs()));
    } finally {
      testing = null;
    }
  }

  return {
    answered() {
      lastAnswerMs = clock.elapsedMs();
    },
    async run() {
      if (clock.elapsedMs() - lastAnswerMs < PROOF_MS) return;
      testing ??= testOnce();
      return testing;
    },
  };
}

function tinyCall(nowMs: number): TinyCall {
  return {
    bytes: Uint8Array.from(Buffer.from(TINY_GIF, 'base64')),
    accountId: 'self-test',
    deadlineMs: nowMs + TINY_DEADLINE_MS,
    pass: { decode: {}, steps: [], encode: { format: 'png' } },
  };
}

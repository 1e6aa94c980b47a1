import { createHash } from 'node:crypto';
import { setTimeout as sleep, setImmediate as turnOfEvents } from 'node:timers/promises';
import { seededRandom } from '../../workers/models/random.ts';
import type { Rate } from './suite.ts';

/** Builds and sends one call. It throws only if the suite cannot build the call. */
type SendCall = (turn: number, dueMs: number) => Promise<void>;

/**
 * Closed loop: keeps a number of connections busy until the stage is over, each with one call at a time.
 * It resolves when the last call has ended.
 */
export async function runClosed(options: {
  connections: number;
  send: SendCall;
  over: AbortSignal;
}): Promise<void> {
  const { connections, send, over } = options;
  let turn = 0;
  const keepBusy = async () => {
    while (!over.aborted) await send(turn++, performance.now());
  };
  await Promise.all(Array.from({ length: connections }, keepBusy));
}

/** The longest time, in milliseconds, for which an open loop sends calls without reading answers. */
const MAX_BURST_MS = 5;

/** Open loop: sends calls when they are due, however slow the answers are. It resolves when the last call has ended. */
export async function runOpen(options: {
  /** Times of the calls in ms since the start, in order. */
  due: Iterable<number>;
  /** The start of the stage, by `performance.now()`. */
  startMs: number;
  durationMs: number;
  send: SendCall;
  /** Aborts when the stage ends or is stopped. */
  over: AbortSignal;
  /** Counts a call that became due, but that a slow loader did not send during the stage. */
  onUnsent: () => void;
}): Promise<void> {
  const { due, startMs, durationMs, send, over, onUnsent } = options;
  const inFlight = new Set<Promise<void>>();
  let yieldedMs = startMs;

  async function waitUntil(dueMs: number): Promise<void> {
    const nowMs = performance.now();
    if (dueMs - nowMs > 1) await sleep(dueMs - nowMs, undefined, { signal: over }).catch(() => undefined);
    else if (nowMs - yieldedMs > MAX_BURST_MS) await turnOfEvents();
    else return;
    yieldedMs = performance.now();
  }

  let turn = 0;
  for (const atMs of due) {
    const dueMs = startMs + atMs;
    if (!over.aborted) await waitUntil(dueMs);
    if (over.aborted) {
      if (dueMs > Math.min(startMs + durationMs, performance.now())) break;
      onUnsent();
      continue;
    }
    const call = send(turn++, dueMs).finally(() => inFlight.delete(call));
    inFlight.add(call);
  }
  await Promise.all(inFlight);
}

/**
 * A random generator for one case in one stage and round. It is independent of all others, and the same in every run.
 */
export function createSeededRandom(caseName: string, stageName: string, round: number): () => number {
  const digest = createHash('sha256')
    .update(JSON.stringify([caseName, stageName, round]))
    .digest();
  return seededRandom(digest.readUInt32BE(0));
}

/**
 * The times at which the calls of an open stage are due, in ms since its start, in order. A number is the rate of a
 * Poisson process, a ramp is one whose rate changes evenly over the stage, and given times are used unchanged.
 */
export function* dueTimes(
  rate: Rate,
  { durationMs, random }: { durationMs: number; random: () => number },
): Generator<number, void, undefined> {
  if (typeof rate === 'object' && 'atMs' in rate) {
    for (const atMs of rate.atMs) if (atMs <= durationMs) yield atMs;
    return;
  }
  const { from, to } = typeof rate === 'number' ? { from: rate, to: rate } : rate;
  const most = Math.max(from, to);
  const gapMs = () => (-Math.log(1 - random()) / most) * 1000;
  for (let atMs = gapMs(); atMs <= durationMs; atMs += gapMs()) {
    const now = from + ((to - from) * atMs) / durationMs;
    // Thinning: calls are drawn at the highest rate, and each is kept with the ratio of the present rate to it as its
    // probability.
    if (now === most || random() < now / most) yield atMs;
  }
}

/** The mean rate of a stage, in calls per second. */
export function meanRate(rate: Rate, seconds: number): number {
  if (typeof rate === 'number') return rate;
  if ('atMs' in rate) return rate.atMs.filter((atMs) => atMs <= seconds * 1000).length / seconds;
  return (rate.from + rate.to) / 2;
}

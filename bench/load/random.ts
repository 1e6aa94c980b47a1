import { createHash } from 'node:crypto';

/**
 * A generator of numbers from 0 to 1 that is repeatable for each seed, so that two runs send the same calls. Source:
 * mulberry32 by Tommy Ettinger, public domain.
 */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A generator for one case in one stage and round: independent of all others, and the same in every run. */
export function seededBy(caseName: string, stageName: string, round: number): () => number {
  const digest = createHash('sha256')
    .update(JSON.stringify([caseName, stageName, round]))
    .digest();
  return seeded(digest.readUInt32BE(0));
}

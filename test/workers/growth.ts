import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Test } from 'tap';

/** What allocators may keep. A result of each call that is not given back is several times as much. */
const MAX_GROWTH_BYTES = 50_000_000;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

function settledBytes(): number {
  collectGarbage();
  return process.memoryUsage.rss();
}

/** Makes the same call again and again, and compares the memory of this process before and after. */
export function staysFlat(t: Test, name: string, rounds: number, call: () => Promise<unknown>): void {
  t.test(`memory does not grow with the number of calls: ${name}`, async (t) => {
    for (let round = 0; round < rounds / 2; round += 1) await call();
    const before = settledBytes();
    for (let round = 0; round < rounds; round += 1) await call();
    const grownBytes = settledBytes() - before;
    t.ok(grownBytes < MAX_GROWTH_BYTES, `grew by ${Math.round(grownBytes / 1e6)} MB in ${rounds} calls`);
  });
}

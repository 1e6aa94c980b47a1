import { setImmediate as nextTurn } from 'node:timers/promises';
import { createOneAtATime } from '../../fairness/one-at-a-time.ts';
import { checkInSlices } from './json.ts';
import { parseInSlices } from './sliced-json.ts';

/** How long a body may hold the event loop, but for the piece that passes it. */
const SLICE_MS = 5;
/** How much longer than the body itself the pause after it is. */
const PAUSES_LONGER = 2;
/**
 * The longest pause after a body: one that was slow only because the machine is busy holds up the next ones no longer.
 */
const LONGEST_PAUSE_MS = 400;

const pauseAfter = (tookMs: number) => Math.min(PAUSES_LONGER * tookMs, LONGEST_PAUSE_MS);

interface LargeBodies {
  /** @throws ApiError as `parseJson` does. */
  parse(owner: string, raw: Buffer): Promise<unknown>;
}

/**
 * Large bodies of JSON are parsed one at a time in a process, by turns of their owners, in slices that let others have
 * the event loop. A pause twice as long comes after them: small calls have two thirds of the event loop. A thread would
 * not help: copying what it parsed takes longer than parsing it here, and is not done in slices.
 */
export function createLargeBodies(): LargeBodies {
  const { takeTurn, endTurn } = createOneAtATime();
  return {
    async parse(owner, raw) {
      await takeTurn(owner);
      const startedMs = performance.now();
      try {
        await inSlices(checkInSlices(raw));
        return await inSlices(parseInSlices(raw));
      } finally {
        // The validation and the handler's first checks follow before that: their time counts too.
        setImmediate(() => setTimeout(endTurn, pauseAfter(performance.now() - startedMs)));
      }
    },
  };
}

/** Runs work that yields where it may be interrupted, with a pause whenever it took a slice of time. */
async function inSlices<T>(work: Generator<void, T>): Promise<T> {
  let startedMs = performance.now();
  for (let step = work.next(); ; step = work.next()) {
    if (step.done === true) return step.value;
    if (performance.now() - startedMs < SLICE_MS) continue;
    await nextTurn();
    startedMs = performance.now();
  }
}

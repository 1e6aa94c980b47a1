import { setImmediate as nextTurn } from 'node:timers/promises';
import { createOneAtATime } from '../../fairness/one-at-a-time.ts';
import { checkJson, parseChecked } from './json.ts';

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
 * Large bodies of JSON are parsed one at a time in a process, by turns of their owners. Counting, and then parsing with
 * the checks that follow it in the same turn of the event loop, take up to 50 ms each for 8 MB. A pause twice as long
 * comes after them: small calls have two thirds of the event loop. A thread would not help: copying what it parsed
 * takes longer than parsing it here.
 */
export function createLargeBodies(): LargeBodies {
  const { takeTurn, endTurn } = createOneAtATime();
  return {
    async parse(owner, raw) {
      await takeTurn(owner);
      const startedMs = performance.now();
      try {
        checkJson(raw);
        await nextTurn();
        return parseChecked(raw);
      } finally {
        // The validation and the handler's first checks follow before that: their time counts too.
        setImmediate(() => setTimeout(endTurn, pauseAfter(performance.now() - startedMs)));
      }
    },
  };
}

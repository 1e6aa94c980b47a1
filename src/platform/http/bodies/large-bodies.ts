import { setImmediate as nextTurn } from 'node:timers/promises';
import { OneAtATime } from '../../queues/one-at-a-time.ts';
import { checkInSlices } from './json.ts';
import { parseInSlices } from './sliced-json.ts';

/** How long a body may block the event loop; the piece that exceeds it is finished first. */
const SLICE_MS = 5;
/** The length of the pause after a slice, relative to the slice. */
const PAUSES_LONGER = 2;
/** The longest pause, because a slice may have been slow only because the machine is busy. */
const MAX_PAUSE_MS = 400;

const pauseAfter = (tookMs: number) => Math.min(PAUSES_LONGER * tookMs, MAX_PAUSE_MS);

/**
 * Parses large JSON bodies one at a time per process, with owners in turn, and in slices between which the event loop
 * serves other calls. A pause of twice its length follows each slice, which leaves two thirds of the event loop to
 * small calls. A thread would not help, because copying its result takes longer than parsing, and cannot be done in
 * slices.
 */
export class LargeBodies {
  readonly #turns = new OneAtATime();

  /** @throws ApiError as `parseJson` does. */
  async parse(owner: string, raw: Buffer): Promise<unknown> {
    await this.#turns.takeTurn(owner);
    const startedMs = performance.now();
    try {
      await inSlices(checkInSlices(raw));
      return await inSlices(parseInSlices(raw));
    } finally {
      // The validation and the first checks of the handler run before that, and count as well.
      setImmediate(() => setTimeout(() => this.#turns.endTurn(), pauseAfter(performance.now() - startedMs)));
    }
  }
}

/** Runs a generator that yields where it may be interrupted, and pauses whenever it has used its slice of time. */
async function inSlices<T>(work: Generator<void, T>): Promise<T> {
  let startedMs = performance.now();
  for (let step = work.next(); ; step = work.next()) {
    if (step.done === true) return step.value;
    if (performance.now() - startedMs < SLICE_MS) continue;
    await nextTurn();
    startedMs = performance.now();
  }
}

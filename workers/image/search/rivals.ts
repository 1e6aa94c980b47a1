import { invalidParamRefusal, type PassRefusal } from '../refusal.ts';
import type { SampleEstimates } from './rehearsal.ts';
import { REACHED_TARGET_RESERVE_MS, RESPONSE_RESERVE_MS, type SearchTime } from './time.ts';

/** What a search learns from its trials on a sample, or from its first trial of a picture without a sample. */
type RivalEstimate = Pick<SampleEstimates, 'bytes' | 'trialCpuMs'>;

/** The limits with which a search continues after its trials on a sample. */
export interface RivalTurn extends Pick<SearchTime, 'deadlineMs' | 'improvesUntilMs'> {
  /** The size of the smallest file of another search; infinite if there is none. */
  bytesToBeat: number;
}

/**
 * Waits until a search may continue with the whole picture.
 * @param estimate undefined before the first trial of a picture without a sample, which begins at once.
 * @throws PassRefusal if the file of another search is expected to be smaller.
 */
export type TakeTurn = (estimate: RivalEstimate | undefined) => Promise<RivalTurn>;

/**
 * The largest expected size at which a search is still worth trying, as a multiple of the smallest file so far. The
 * expected size can be several times too large, because a sample of a smooth picture has edges that the whole picture
 * lacks. The ratio therefore grows with the largest error of the expected sizes so far.
 */
const MAX_RIVAL_SIZE_RATIO = 1.1;
/** The trials that a search needs to come near its target. With only one, it has to aim far on the safe side. */
const MIN_TRIALS_PER_SEARCH = 2;
/** If there is time for at most this many of its trials, a search continues before the others have tried a sample. */
const MAX_HURRIED_TRIALS = 3;

interface WaitingSearch<T> extends RivalEstimate {
  resume(turn: RivalTurn): void;
  giveUp(reason: PassRefusal): void;
  result: Promise<T>;
}

/**
 * Runs searches for the same target, of which only the smallest file is needed. Each tries a sample first, or one
 * setting on a small picture. Then the search with the smallest expected file continues, and others only if their files
 * may be smaller than its file. If the time is too short for its trials, quicker searches continue first, so that there
 * is a file to compare with. Only one search works at a time, because each measures how long its work takes.
 *
 * The order decides which searches give up, so `wasHurried` tells whether it was changed for lack of time.
 * @param starts the searches. A search that ends without an estimate does not wait.
 * @param bytesOf the size of the file of a search; infinite if it has none.
 */
export async function runRivals<T>(
  starts: readonly ((takeTurn: TakeTurn) => Promise<T>)[],
  { clock, deadlineMs, bytesOf }: Pick<SearchTime, 'clock' | 'deadlineMs'> & { bytesOf(result: T): number },
): Promise<{ results: T[]; wasHurried: boolean }> {
  const results: Promise<T>[] = [];
  let wasHurried = false;
  let waiting: WaitingSearch<T>[] = [];
  let smallestBytes = Number.POSITIVE_INFINITY;
  let largestErrorRatio = 1;
  for (const start of starts) {
    const sampled = Promise.withResolvers<Omit<WaitingSearch<T>, 'result'>>();
    const result = start(async (estimate) => {
      if (estimate === undefined) return turnWith(0);
      const turn = Promise.withResolvers<RivalTurn>();
      sampled.resolve({ ...estimate, resume: turn.resolve, giveUp: turn.reject });
      return turn.promise;
    });
    results.push(result);
    const first = await Promise.race([sampled.promise, result.then((ended) => ({ ended }))]);
    if ('ended' in first) smallestBytes = Math.min(smallestBytes, bytesOf(first.ended));
    else waiting.push({ ...first, result });
    const isLast = results.length === starts.length;
    if (
      !isLast &&
      'trialCpuMs' in first &&
      clock.expectedMs(MAX_HURRIED_TRIALS * first.trialCpuMs) > leftMs()
    ) {
      wasHurried = true;
      await finishWaiting();
    }
  }
  await finishWaiting();
  return { results: await Promise.all(results), wasHurried };

  async function finishWaiting(): Promise<void> {
    // Until a search has a file, the time of the quickest one is kept for it.
    const neededMs = ({ trialCpuMs }: RivalEstimate) => clock.expectedMs(MIN_TRIALS_PER_SEARCH * trialCpuMs);
    const keptMs = Math.min(...waiting.map(neededMs));
    const fittingMs = leftMs() - keptMs;
    const rankOf = (search: RivalEstimate) => (neededMs(search) <= fittingMs ? 0 : search.trialCpuMs);
    const bySize = waiting.toSorted((one, other) => one.bytes - other.bytes);
    const order = bySize.toSorted((one, other) => rankOf(one) - rankOf(other));
    wasHurried ||= order.some((search, index) => search !== bySize[index]);
    for (const search of order) {
      if (search.bytes > MAX_RIVAL_SIZE_RATIO * largestErrorRatio * smallestBytes)
        search.giveUp(outdoneRefusal());
      else search.resume(turnWith(search === order.at(-1) ? 0 : keptMs));
      const bytes = bytesOf(await search.result);
      smallestBytes = Math.min(smallestBytes, bytes);
      if (bytes < Number.POSITIVE_INFINITY)
        largestErrorRatio = Math.max(largestErrorRatio, bytes / search.bytes, search.bytes / bytes);
    }
    waiting = [];
  }

  function leftMs(): number {
    return deadlineMs - REACHED_TARGET_RESERVE_MS - clock.nowMs();
  }

  /**
   * The limits of the next search.
   * @param keptMs the time that is kept for other searches if none has a file.
   */
  function turnWith(keptMs: number): RivalTurn {
    // Once there is a file, a late search must not delay the response, so its deadline is earlier.
    const isReached = smallestBytes < Number.POSITIVE_INFINITY;
    return {
      deadlineMs: deadlineMs - (isReached ? RESPONSE_RESERVE_MS : keptMs),
      improvesUntilMs: deadlineMs - REACHED_TARGET_RESERVE_MS,
      bytesToBeat: smallestBytes,
    };
  }
}

/** The refusal of a search whose file would be larger than that of another one. */
export function outdoneRefusal(): PassRefusal {
  return invalidParamRefusal('format', 'Another of the formats makes a smaller file.', { reason: 'outdone' });
}

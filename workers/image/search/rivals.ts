import { invalidArgument, type PassRefusal } from '../refusal.ts';
import { MIN_TRIAL_TIME_MS, type SearchTime } from './time.ts';

/** The time limits of a search that may go on. */
type SearchTurn = Pick<SearchTime, 'deadlineMs' | 'improvesUntilMs'>;

/**
 * Waits until a search may try the whole picture.
 * @param bytes the expected size of its file.
 * @throws PassRefusal if another search has a smaller file already.
 */
export type TakeTurn = (bytes: number) => Promise<SearchTurn>;

/**
 * The largest expected size at which a search is still worth trying, as a multiple of the smallest file so far. The
 * expected size can be several times too large, because a sample of a smooth picture has edges that the whole picture
 * lacks. The ratio therefore grows with the largest error of the expected sizes so far.
 */
const MAX_SIZE_RATIO = 1.5;
/**
 * The share of the remaining time that a search gets while no search has reached the target. The rest is left for the
 * next search.
 */
const FIRST_TIME_SHARE = 2 / 3;

interface WaitingSearch<T> {
  bytes: number;
  resume(turn: SearchTurn): void;
  giveUp(reason: PassRefusal): void;
  result: Promise<T>;
}

/**
 * Runs searches for the same target, of which only the smallest file is needed. Each tries a sample first. Then the
 * search with the smallest expected file goes on, with nearly all the time, and others only if their files may be
 * smaller than its file. Never more than one search works at a time, because each measures how long its work takes.
 * @param starts the searches. A search that ends without a sample does not wait.
 * @param bytesOf the size of the file of a search; infinite if it has none.
 */
export async function runRivals<T>(
  starts: readonly ((takeTurn: TakeTurn) => Promise<T>)[],
  { nowMs, deadlineMs, bytesOf }: Pick<SearchTime, 'nowMs' | 'deadlineMs'> & { bytesOf(result: T): number },
): Promise<T[]> {
  const results: Promise<T>[] = [];
  const waiting: WaitingSearch<T>[] = [];
  let least = Number.POSITIVE_INFINITY;
  for (const start of starts) {
    const sampled = Promise.withResolvers<Omit<WaitingSearch<T>, 'result'>>();
    const result = start((bytes) => {
      const turn = Promise.withResolvers<SearchTurn>();
      sampled.resolve({ bytes, resume: turn.resolve, giveUp: turn.reject });
      return turn.promise;
    });
    results.push(result);
    const first = await Promise.race([sampled.promise, result.then((ended) => ({ ended }))]);
    if ('ended' in first) least = Math.min(least, bytesOf(first.ended));
    else waiting.push({ ...first, result });
  }
  let error = 1;
  for (const search of waiting.toSorted((one, other) => one.bytes - other.bytes)) {
    if (search.bytes > MAX_SIZE_RATIO * error * least) search.giveUp(outdoneRefusal());
    else search.resume(turnAt(nowMs(), deadlineMs, least < Number.POSITIVE_INFINITY));
    const bytes = bytesOf(await search.result);
    least = Math.min(least, bytes);
    if (bytes < Number.POSITIVE_INFINITY && search.bytes > 0)
      error = Math.max(error, bytes / search.bytes, search.bytes / bytes);
  }
  return Promise.all(results);
}

function turnAt(nowMs: number, deadlineMs: number, isReached: boolean): SearchTurn {
  return {
    deadlineMs: isReached ? deadlineMs : nowMs + FIRST_TIME_SHARE * (deadlineMs - nowMs),
    improvesUntilMs: deadlineMs - MIN_TRIAL_TIME_MS,
  };
}

function outdoneRefusal(): PassRefusal {
  return invalidArgument('format', 'Another of the formats makes a smaller file.', { reason: 'outdone' });
}

import type { Pages } from '../../../../client/answers.ts';
import { useMemo } from '../html.ts';
import { type PagedList, usePages, usePoll } from './reading.ts';

interface LiveList<T> extends PagedList<T> {
  isPaused: boolean;
  setPaused(isPaused: boolean): void;
  /** When the newest page was last read, in epoch milliseconds. */
  readAt: number | undefined;
}

/**
 * A list, newest first, whose first page is read repeatedly: new rows appear at the top, and known rows are updated.
 * Further pages are read as the reader scrolls.
 */
export function useLiveList<T>(
  open: (signal: AbortSignal) => Pages<T>,
  deps: readonly unknown[],
  { keyOf, everyMs }: { keyOf: (row: T) => string; everyMs: number },
): LiveList<T> {
  const list = usePages(open, deps);
  const newest = usePoll((signal) => open(signal).first(), deps, everyMs);
  const { isPaused, setPaused, readAt, data } = newest;
  const rows = useMemo(() => withNewest(list.rows, data, keyOf), [list.rows, data]);
  const reload = () => {
    list.reload();
    newest.reload();
  };
  const total = data?.meta.total ?? list.total;
  return { ...list, rows, total, error: list.error ?? newest.error, reload, isPaused, setPaused, readAt };
}

/** The rows of the newest page, followed by the older rows of the list. */
function withNewest<T>(
  rows: readonly T[],
  newest: { rows: readonly T[]; meta: { hasMore: boolean } } | undefined,
  keyOf: (row: T) => string,
): readonly T[] {
  if (newest === undefined) return rows;
  const last = newest.rows.at(-1);
  if (last === undefined || !newest.meta.hasMore) return newest.rows;
  const end = rows.findIndex((row) => keyOf(row) === keyOf(last));
  if (end !== -1) return [...newest.rows, ...rows.slice(end + 1)];
  const known = new Set(newest.rows.map(keyOf));
  return [...newest.rows, ...rows.filter((row) => !known.has(keyOf(row)))];
}

import type { Pages } from '../../../../client/answers.ts';
import { ConnectionError } from '../../../../client/errors.ts';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from '../html.ts';
import { offlineState, useSession } from '../session.ts';
import { askToConfirm, type DialogQuestion } from './overlays.ts';

/** Data that is loaded from the service, with the state of the load. */
interface LoadedData<T> {
  /** The data that was last read; undefined before the first response. */
  data: T | undefined;
  /** Why the last read failed; undefined if it did not. */
  error: unknown;
  isLoading: boolean;
  reload(): void;
}

/** Whether data is read again and again, and when it was read. */
export interface LiveState {
  isPaused: boolean;
  setPaused(isPaused: boolean): void;
  /** When the data was last read, in epoch milliseconds. */
  readAt: number | undefined;
}

export interface PagedList<T> {
  rows: readonly T[];
  /** The total number of rows, if the service counts them. */
  total: number | undefined;
  hasMore: boolean;
  /** Loads the next page. */
  more(): void;
  error: unknown;
  isLoading: boolean;
  reload(): void;
}

type ReadFunction<T> = (signal: AbortSignal) => Promise<T>;

/** The longest pause between loads after failures, as a multiple of the usual pause. */
const MAX_BACKOFF_FACTOR = 8;

/**
 * Loads data, and loads it again when one of `deps` changes; the data for the previous `deps` is dropped. A failed load
 * is repeated when the connection is restored. If the failure was a 401, it is repeated when somebody signs in.
 */
export function useLoad<T>(read: ReadFunction<T>, deps: readonly unknown[]): LoadedData<T> {
  const [state, setState] = useState<{ data?: T; error?: unknown; isLoading: boolean; key: unknown }>({
    isLoading: true,
    key: undefined,
  });
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((last) => last + 1), []);
  const key = JSON.stringify(deps);
  // A layout effect runs before the browser paints. With useEffect, the old state would be visible for a frame.
  useLayoutEffect(() => {
    const abortController = new AbortController();
    setState(({ data, key: last }) =>
      last === key && data !== undefined ? { data, isLoading: true, key } : { isLoading: true, key },
    );
    read(abortController.signal).then(
      (data) => abortController.signal.aborted || setState({ data, isLoading: false, key }),
      (error) =>
        abortController.signal.aborted ||
        setState(({ data }) => ({ ...(data !== undefined && { data }), error, isLoading: false, key })),
    );
    return () => abortController.abort();
  }, [key, round]);
  useReloadWhenOnline(state.error, reload);
  const isCurrent = state.key === key;
  return {
    data: isCurrent ? state.data : undefined,
    error: isCurrent ? state.error : undefined,
    isLoading: !isCurrent || state.isLoading,
    reload,
  };
}

/**
 * Loads data repeatedly. Loading stops while the user has paused it or the tab is hidden. After failures, the pause
 * between two loads grows.
 * @param everyMs the pause between a response and the next request, or a function of the data that returns it.
 */
export function usePoll<T>(
  read: ReadFunction<T>,
  deps: readonly unknown[],
  everyMs: number | ((data: T | undefined) => number),
): LoadedData<T> & LiveState {
  const [isPaused, setPaused] = useState(false);
  const [readAt, setReadAt] = useState<number>();
  const reading = useLoad(async (signal) => {
    const data = await read(signal);
    setReadAt(Date.now());
    return data;
  }, deps);
  const failures = useRef(0);
  const { data, isLoading, error, reload } = reading;
  const intervalMs = typeof everyMs === 'function' ? everyMs(data) : everyMs;
  useEffect(() => {
    if (isPaused || isLoading) return;
    failures.current = error === undefined ? 0 : failures.current + 1;
    const pauseMs = intervalMs * Math.min(MAX_BACKOFF_FACTOR, 2 ** failures.current);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const plan = () => {
      clearTimeout(timer);
      if (!document.hidden) timer = setTimeout(reload, pauseMs);
    };
    plan();
    document.addEventListener('visibilitychange', plan);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', plan);
    };
  }, [isPaused, isLoading, error, intervalMs]);
  return { ...reading, isPaused, setPaused, readAt };
}

/**
 * Loads a list page by page. When one of `deps` changes, the list is loaded from its start, and the old rows stay
 * visible until the new ones arrive.
 */
export function usePages<T>(open: (signal: AbortSignal) => Pages<T>, deps: readonly unknown[]): PagedList<T> {
  const [state, setState] = useState<Omit<PagedList<T>, 'more' | 'reload'>>({
    ...{ rows: [], total: undefined, hasMore: false, error: undefined, isLoading: true },
  });
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((last) => last + 1), []);
  const pull = useRef<() => void>(() => undefined);
  useLayoutEffect(() => {
    const abortController = new AbortController();
    let pages = open(abortController.signal).pages();
    let rows: readonly T[] = [];
    let isPulling = false;
    pull.current = () => {
      if (isPulling) return;
      isPulling = true;
      setState((last) => ({ ...last, isLoading: true, error: undefined }));
      void pages
        .next()
        .then(({ value, done }) => {
          if (abortController.signal.aborted) return;
          if (done) return setState((last) => ({ ...last, hasMore: false, isLoading: false }));
          rows = [...rows, ...value.rows];
          const { total, hasMore } = value.meta;
          setState((last) => ({
            rows,
            total: total ?? last.total,
            hasMore,
            error: undefined,
            isLoading: false,
          }));
        })
        .catch((error) => {
          if (abortController.signal.aborted) return;
          // A generator that has thrown cannot continue, so the next attempt starts the list again.
          pages = open(abortController.signal).pages();
          rows = [];
          setState((last) => ({ ...last, error, isLoading: false }));
        })
        .finally(() => {
          isPulling = false;
        });
    };
    pull.current();
    return () => abortController.abort();
  }, [JSON.stringify(deps), round]);
  useReloadWhenOnline(state.error, reload);
  const more = useCallback(() => pull.current(), []);
  return { ...state, more, reload };
}

/** Loads all rows of a short list, for a table. */
export function useRows<T>(read: ReadFunction<readonly T[]>) {
  const { data, ...list } = useLoad(read, []);
  return { rows: data ?? [], ...list };
}

/** Runs the action of a button or a form. While an action runs, another one is ignored. */
export function useAction() {
  const [state, setState] = useState<{ isActing: boolean; error: unknown }>({
    isActing: false,
    error: undefined,
  });
  const isActing = useRef(false);
  /**
   * Runs an action.
   * @returns false if it failed; `error` then contains the reason.
   */
  const act = useCallback(async (work: () => Promise<unknown>): Promise<boolean> => {
    if (isActing.current) return false;
    isActing.current = true;
    setState({ isActing: true, error: undefined });
    try {
      await work();
      setState({ isActing: false, error: undefined });
      return true;
    } catch (error) {
      setState({ isActing: false, error });
      return false;
    } finally {
      isActing.current = false;
    }
  }, []);
  /** Asks the user to confirm a dangerous action, and runs it as `act` does. Returns false if the user declines. */
  const actIfConfirmed = useCallback(
    async (question: DialogQuestion, work: () => Promise<unknown>) =>
      (await askToConfirm({ ...question, isDangerous: true })) && act(work),
    [],
  );
  const clear = useCallback(() => setState({ isActing: false, error: undefined }), []);
  return { act, actIfConfirmed, clear, ...state };
}

/** Repeats a failed read when the connection is restored, or when somebody has signed in again. */
function useReloadWhenOnline(error: unknown, reload: () => void): void {
  const isLost = offlineState.use();
  const { kind } = useSession();
  const isBack = !isLost && kind !== 'none' && kind !== 'unknown';
  const wasBack = useRef(isBack);
  useEffect(() => {
    const hasFailed =
      error instanceof ConnectionError || (error as { status?: number } | undefined)?.status === 401;
    if (isBack && !wasBack.current && hasFailed) reload();
    wasBack.current = isBack;
  }, [isBack]);
}

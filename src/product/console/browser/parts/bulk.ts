import { DarkroomError, UnauthorizedError } from '../../../../client/errors.ts';
import { html, useCallback, useRef, useState } from '../html.ts';
import { shownAccountId } from '../session.ts';
import { Button } from './controls.ts';
import { countText } from './values.ts';

/** One action on many items, with one call per item. */
interface BulkWork<T> {
  /** The title of the progress, such as `Cancelling jobs`. */
  title: string;
  /** The number of items, if it is known. */
  total?: number | undefined;
  rows: AsyncIterable<T> | Iterable<T>;
  /** Returns the name of an item for the list of failures. */
  nameOf: (row: T) => string;
  act: (row: T, signal: AbortSignal) => Promise<unknown>;
  /** Called when all items are done, or the user has stopped the action. */
  onEnd?: () => void;
}

interface BulkState extends Pick<BulkWork<never>, 'title' | 'total'> {
  done: number;
  failed: number;
  /** The first items that failed, with the reason of each. */
  failures: readonly { name: string; message: string }[];
  isRunning: boolean;
  wasStopped: boolean;
}

/**
 * The maximum number of concurrent calls. It is below the number of the account's slots, because other programs of the
 * account need some.
 */
const MAX_CONCURRENT_CALLS = 3;
const MAX_CALL_ATTEMPTS = 6;
const MAX_RETRY_WAIT_SECONDS = 70;
const MAX_SHOWN_FAILURES = 20;

/** Runs one action on many items, a few at a time, and shows the progress and what failed. */
export function useBulkAction() {
  const [state, setState] = useState<BulkState>();
  const end = useRef<AbortController | null>(null);
  const change = (next: (last: BulkState) => Partial<BulkState>) =>
    setState((last) => last && { ...last, ...next(last) });

  const run = useCallback(async <T>({ title, total, rows, nameOf, act, onEnd }: BulkWork<T>) => {
    const abortController = new AbortController();
    end.current = abortController;
    const { signal } = abortController;
    const unlisten = shownAccountId.listen(() => abortController.abort());
    setState({ title, total, done: 0, failed: 0, failures: [], isRunning: true, wasStopped: false });
    const fail = (name: string, error: unknown) =>
      change(({ failed, failures }) => ({
        failed: failed + 1,
        failures: [...failures, { name, message: messageOf(error) }].slice(0, MAX_SHOWN_FAILURES),
      }));
    const next = createRowReader(rows);
    async function follow(): Promise<void> {
      for (;;) {
        const { value, done } = await next();
        if (done || signal.aborted) return;
        try {
          await withRetries(() => act(value, signal), signal);
        } catch (error) {
          if (signal.aborted) return;
          fail(nameOf(value), error);
          // Without a session, every further call would fail as well.
          if (error instanceof UnauthorizedError) return abortController.abort();
        }
        change(({ done }) => ({ done: done + 1 }));
      }
    }
    await Promise.all(Array.from({ length: MAX_CONCURRENT_CALLS }, follow)).catch((error) =>
      fail('The list', error),
    );
    unlisten();
    change(() => ({ isRunning: false, wasStopped: signal.aborted }));
    onEnd?.();
  }, []);

  const view =
    state &&
    html`<${BulkPanel} state=${state} onStop=${() => end.current?.abort()} onClose=${() => setState(undefined)} />`;
  return { run, view, isRunning: state?.isRunning ?? false };
}

/**
 * Returns a function that reads the next row. Concurrent callers get different rows; each waits while another one reads
 * a page.
 */
function createRowReader<T>(rows: BulkWork<T>['rows']): () => Promise<IteratorResult<T>> {
  const iterator = Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]();
  let lastRead: Promise<unknown> = Promise.resolve();
  return () => {
    const result = lastRead.then(() => iterator.next());
    lastRead = result.catch(() => undefined);
    return result;
  };
}

interface BulkPanelProps {
  state: BulkState;
  onStop: () => void;
  onClose: () => void;
}

function BulkPanel({ state, onStop, onClose }: BulkPanelProps) {
  const { title, total, done, failed, failures, isRunning, wasStopped } = state;
  const of = total === undefined ? '' : ` of ${countText(Math.max(total, done))}`;
  const ended = wasStopped ? ', stopped' : ', done';
  return html`<div class="bulk" role="status">
    <div class="bulk-head">
      <strong>${title}</strong>
      <span class="figure">${countText(done)}${of}${isRunning ? '' : ended}</span>
      <${Button} kind="link" onClick=${isRunning ? onStop : onClose}>${isRunning ? 'Stop' : 'Close'}<//>
    </div>
    <progress
      max="1"
      value=${isRunning ? (total ? Math.min(1, done / total) : undefined) : 1}
      aria-label=${title}
    ></progress>
    ${
      failed > 0 &&
      html`<p>${countText(failed)} failed${failed > failures.length ? `; the first ${failures.length}` : ''}:</p>
        <ul>
          ${failures.map(({ name, message }, index) => html`<li key=${index}><code>${name}</code> ${message}</li>`)}
        </ul>`
    }
  </div>`;
}

/** Repeats a call while the service says that its failure may be temporary. */
async function withRetries(call: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await call();
      return;
    } catch (error) {
      const seconds = error instanceof DarkroomError ? (error.retryAfterSeconds ?? attempt) : 0;
      const isWorthIt =
        error instanceof DarkroomError && error.retryable && seconds <= MAX_RETRY_WAIT_SECONDS;
      if (!isWorthIt || attempt === MAX_CALL_ATTEMPTS || signal.aborted) throw error;
      await pause(seconds * 1_000, signal);
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

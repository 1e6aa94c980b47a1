import { setTimeout as sleep } from 'node:timers/promises';
import { randomText } from '../../platform/names/ids.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import type { SyncRuns } from './sync-runs.ts';

const ASKED = 'usage/write-down';
const DONE = 'usage/written-down';
/** A process that just starts or ends may not answer: the reader goes on without it. */
const LONGEST_WAIT_MS = 500;

/** Without it a reading lacks the calls of the last half second, which sync-runs.ts writes in one batch. */
interface CatchUp {
  /**
   * Resolves when every process has written down the runs that it answered before: what is read then holds every call
   * whose answer its caller has seen, whichever process gave it.
   */
  catchUp(): Promise<void>;
  close(): void;
}

interface Waiting {
  answers: number;
  /** Known when the question was sent; answers may be faster. */
  processes: number;
  resolve: () => void;
}

/** Asks every process of every host to write down its batch of runs, and answers others that ask. */
export async function openCatchUp(coordination: Coordination, syncRuns: SyncRuns): Promise<CatchUp> {
  const waiting = new Map<string, Waiting>();
  const settle = (question: Waiting) => {
    if (question.answers >= question.processes) question.resolve();
  };

  const ends = await Promise.all([
    coordination.subscribe(ASKED, (id) => {
      syncRuns
        .flush()
        .then(() => coordination.publish(DONE, id))
        // The process that asked goes on without this answer.
        .catch(() => undefined);
    }),
    coordination.subscribe(DONE, (id) => {
      const question = waiting.get(id);
      if (question === undefined) return;
      question.answers += 1;
      settle(question);
    }),
  ]);

  async function catchUp(): Promise<void> {
    const id = randomText(12);
    const { promise, resolve } = Promise.withResolvers<void>();
    const question: Waiting = { answers: 0, processes: Number.POSITIVE_INFINITY, resolve };
    waiting.set(id, question);
    const timer = new AbortController();
    try {
      question.processes = await coordination.publish(ASKED, id);
      settle(question);
      await Promise.race([promise, sleep(LONGEST_WAIT_MS, undefined, { signal: timer.signal })]);
    } finally {
      timer.abort();
      waiting.delete(id);
    }
  }

  return {
    catchUp,
    close() {
      for (const end of ends) end();
    },
  };
}

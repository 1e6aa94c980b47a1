import { randomText } from '../../platform/names/ids.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import type { SyncRuns } from './sync-runs.ts';

const ASKED = 'usage/write-down';
const DONE = 'usage/written-down';
/** The timeout of one process's answer: a process that is starting or ending may not answer. */
const LONGEST_WAIT_MS = 500;

interface Waiting {
  answers: number;
  /** The number of processes to wait for; known once the question was sent, while answers may arrive earlier. */
  processes: number;
  resolve: () => void;
}

/**
 * Waits until the latest runs are stored. Otherwise a reader misses the calls of the last half second, which
 * sync-runs.ts writes in one batch.
 */
interface CatchUp {
  /**
   * Resolves when every process has stored the runs that it answered before. A reader then sees every call that was
   * answered, by any process.
   */
  catchUp(): Promise<void>;
  close(): void;
}

/** Asks every process of every host to store its batch of runs, and answers the questions of others. */
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
        // The asking process continues without this answer after its timeout.
        .catch(() => undefined);
    }),
    coordination.subscribe(DONE, (id) => {
      const question = waiting.get(id);
      if (question === undefined) return;
      question.answers += 1;
      settle(question);
    }),
  ]);

  return {
    async catchUp() {
      const id = randomText(12);
      const { promise, resolve } = Promise.withResolvers<void>();
      const question: Waiting = { answers: 0, processes: Number.POSITIVE_INFINITY, resolve };
      let timer: NodeJS.Timeout | undefined;
      waiting.set(id, question);
      try {
        question.processes = await coordination.publish(ASKED, id);
        settle(question);
        timer = setTimeout(resolve, LONGEST_WAIT_MS);
        await promise;
      } finally {
        clearTimeout(timer);
        waiting.delete(id);
      }
    },
    close() {
      for (const end of ends) end();
    },
  };
}

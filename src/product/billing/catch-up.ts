import { randomText } from '../../platform/ids/ids.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import type { SyncRuns } from './sync-runs.ts';

const FLUSH = 'usage/write-down';
const FLUSHED = 'usage/written-down';
/** The timeout of one process's answer: a process that is starting or ending may not answer. */
const MAX_WAIT_MS = 500;

interface FlushRequest {
  answers: number;
  /** The number of processes to wait for; known once the request was sent, while answers may arrive earlier. */
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

/** Asks every process of every host to store its batch of runs, and answers the requests of others. */
export async function openCatchUp(coordination: Coordination, syncRuns: SyncRuns): Promise<CatchUp> {
  const waiting = new Map<string, FlushRequest>();
  const resolveIfComplete = (request: FlushRequest) => {
    if (request.answers >= request.processes) request.resolve();
  };

  const ends = await Promise.all([
    coordination.subscribe(FLUSH, (id) => {
      syncRuns
        .flush()
        .then(() => coordination.publish(FLUSHED, id))
        // The asking process continues without this answer after its timeout.
        .catch(() => undefined);
    }),
    coordination.subscribe(FLUSHED, (id) => {
      const request = waiting.get(id);
      if (request === undefined) return;
      request.answers += 1;
      resolveIfComplete(request);
    }),
  ]);

  return {
    async catchUp() {
      const id = randomText(12);
      const { promise, resolve } = Promise.withResolvers<void>();
      const request: FlushRequest = { answers: 0, processes: Number.POSITIVE_INFINITY, resolve };
      let timer: NodeJS.Timeout | undefined;
      waiting.set(id, request);
      try {
        request.processes = await coordination.publish(FLUSH, id);
        resolveIfComplete(request);
        timer = setTimeout(resolve, MAX_WAIT_MS);
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

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type CallReply, PendingCalls } from '../../embedded/pending-calls.ts';
import {
  type CollectionSpec,
  type DocumentWithId,
  type ListableDocumentStore,
  StoreUnavailableError,
} from '../port.ts';
import { createRemoteCollection } from '../remote.ts';
import { isFullDisk, unwrittenError } from './failures.ts';
import type { CollectionCallMessage } from './thread.ts';

/** The id of a call whose answer nobody waits for. */
const ONE_WAY_CALL_ID = 0;

/**
 * Documents in one SQLite file, which a thread of this process owns. Only one process may open a file: see
 * DataDirectory. A thread that dies (a full disk, an I/O error) is replaced at the next call. Calls that waited for it
 * get StoreUnavailableError, and may or may not have been written.
 */
export function openEmbeddedDocuments(path: string): ListableDocumentStore {
  const pending = new PendingCalls();
  const specs = new Map<string, CollectionSpec>();
  let unsent: CollectionCallMessage[] = [];
  let thread: Worker | null = null;
  let closed = false;

  function start(): Worker {
    const started = new Worker(new URL('./thread.ts', import.meta.url), { workerData: { path } });
    let reason = 'it was stopped';
    started.on('message', (answers: CallReply[]) => answers.forEach(pending.settle));
    started.on('error', (error) => {
      reason = failureReason(error, path);
    });
    started.on('exit', () => {
      thread = null;
      pending.failAll(unwrittenError(`The documents' thread ended: ${reason}.`));
    });
    started.postMessage(Array.from(specs.values(), declarationMessageOf));
    return started;
  }

  /** Queues a call. The calls of one turn of the event loop are sent together. */
  function send(call: CollectionCallMessage): void {
    unsent.push(call);
    if (unsent.length > 1) return;
    queueMicrotask(() => {
      thread ??= start();
      thread.postMessage(unsent);
      unsent = [];
    });
  }

  function call(collection: string, method: string, args: unknown[]): Promise<unknown> {
    if (closed) return Promise.reject(new StoreUnavailableError('The documents are closed.'));
    const { id, answered } = pending.begin();
    send({ id, collection, method, args });
    return answered;
  }

  return {
    collection<T extends DocumentWithId>(spec: CollectionSpec) {
      specs.set(spec.name, spec);
      if (thread !== null) send(declarationMessageOf(spec));
      return createRemoteCollection<T>(spec.name, call);
    },
    async prepare(spec) {
      await call(spec.name, 'declare', [spec]);
    },
    async collections() {
      return (await call('', 'collections', [])) as CollectionSpec[];
    },
    async ping() {
      await call('', 'ping', []);
    },
    async close() {
      if (closed) return;
      const ended = thread === null ? undefined : once(thread, 'exit');
      const last = ended && call('', 'close', []);
      closed = true;
      await last;
      await ended;
    },
  };
}

/** The message that declares a collection. Each thread needs it before the first call of the collection. */
function declarationMessageOf(spec: CollectionSpec): CollectionCallMessage {
  return { id: ONE_WAY_CALL_ID, collection: spec.name, method: 'declare', args: [spec] };
}

/** Matches the messages of SQLite for a damaged file. */
const DAMAGED_FILE_MESSAGE_PATTERN = /not a database|malformed|corrupt/i;

function failureReason(error: unknown, path: string): string {
  const message = error instanceof Error ? error.message : String(error);
  if (isFullDisk(message)) return `${message}. Free space on the disk of ${path}`;
  if (!DAMAGED_FILE_MESSAGE_PATTERN.test(message)) return message;
  return `the database ${path} is damaged (${message}). Stop the service, move the file and those beside it (-wal, -shm) away, and put a copy in its place, such as one that "npm run admin -- backup" made`;
}

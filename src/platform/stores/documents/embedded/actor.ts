import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { unpackError } from '../../embedded/crossing.ts';
import { type CollectionSpec, type Document, type ListedDocuments, StoreUnavailableError } from '../port.ts';
import { collectionThrough } from '../remote.ts';
import type { Answer, Question } from './messages.ts';

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

/**
 * Documents in one SQLite file, owned by a thread of this process. Only one process may open a file: see
 * openDataDirectory. A thread that dies (a full disk, an I/O error) is replaced at the next call; calls that waited for
 * it get StoreUnavailableError, and it is unknown whether they were written.
 */
export function openEmbeddedDocuments(path: string): ListedDocuments {
  const waiting = new Map<number, Waiting>();
  const specs = new Map<string, CollectionSpec>();
  let unsent: Question[] = [];
  let lastId = 0;
  let thread: Worker | null = null;
  let closed = false;

  function start(): Worker {
    const started = new Worker(new URL('./thread.ts', import.meta.url), { workerData: { path } });
    let reason = 'it was stopped';
    started.on('message', (answers: Answer[]) => answers.forEach(settle));
    started.on('error', (error) => {
      reason = reasonOf(error, path);
    });
    started.on('exit', () => {
      thread = null;
      const error = new StoreUnavailableError(`The documents' thread ended: ${reason}.`);
      for (const { reject } of waiting.values()) reject(error);
      waiting.clear();
    });
    const declarations = Array.from(specs.values(), (spec) => question('declare', spec.name, [spec]));
    started.postMessage(declarations);
    return started;
  }

  function settle({ id, value, error }: Answer): void {
    const caller = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) caller?.resolve(value);
    else caller?.reject(unpackError(error));
  }

  function question(method: string, collection: string, args: unknown[]): Question {
    return { id: ++lastId, collection, method, args };
  }

  /** The calls of one turn of the event loop are sent together. */
  function send(asked: Question): void {
    unsent.push(asked);
    if (unsent.length > 1) return;
    queueMicrotask(() => {
      thread ??= start();
      thread.postMessage(unsent);
      unsent = [];
    });
  }

  function ask(collection: string, method: string, args: unknown[]): Promise<unknown> {
    if (closed) return Promise.reject(new StoreUnavailableError('The documents are closed.'));
    const asked = question(method, collection, args);
    send(asked);
    return new Promise((resolve, reject) => waiting.set(asked.id, { resolve, reject }));
  }

  return {
    async collection<T extends Document>(spec: CollectionSpec) {
      await ask(spec.name, 'declare', [spec]);
      specs.set(spec.name, spec);
      return collectionThrough<T>(spec.name, ask);
    },
    async collections() {
      return (await ask('', 'collections', [])) as CollectionSpec[];
    },
    async ping() {
      await ask('', 'ping', []);
    },
    async close() {
      if (closed) return;
      const ended = thread === null ? undefined : once(thread, 'exit');
      const last = ended && ask('', 'close', []);
      closed = true;
      await last;
      await ended;
    },
  };
}

/** The messages of SQLite for a damaged file. */
const DAMAGED = /not a database|malformed|corrupt/i;

function reasonOf(error: unknown, path: string): string {
  const message = error instanceof Error ? error.message : String(error);
  if (!DAMAGED.test(message)) return message;
  return `the database ${path} is damaged (${message}). Stop the service, move the file and those beside it (-wal, -shm) away, and put a copy in its place, such as one that "npm run admin -- backup" made`;
}

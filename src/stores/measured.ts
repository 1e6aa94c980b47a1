import type { Documents } from './documents/port.ts';
import type { Stores } from './open.ts';

/** Hears of every question to a store: how long it took, and the name of the error that it ended with, if any. */
export type StoreObserver = (store: string, operation: string, seconds: number, error: string | null) => void;

/** The stores as they are, each question to them measured. It costs two readings of the clock a question. */
export function measured(stores: Stores, observe: StoreObserver): Stores {
  return {
    documents: measuredDocuments(stores.documents, observe),
    coordination: measuredPort('coordination', stores.coordination, observe),
    objects: measuredPort('objects', stores.objects, observe),
    close: () => stores.close(),
  };
}

function measuredDocuments(documents: Documents, observe: StoreObserver): Documents {
  const asked = measuredPort('documents', documents, observe);
  return {
    collection: async (spec) => measuredPort('documents', await documents.collection(spec), observe),
    ping: () => asked.ping(),
    close: () => documents.close(),
  };
}

/** A port whose methods are measured; what they answer and throw is passed on as it is. */
function measuredPort<P extends object>(store: string, port: P, observe: StoreObserver): P {
  const methods = new Map<string, unknown>();
  return new Proxy(port, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== 'function' || typeof name !== 'string') return value;
      const known = methods.get(name);
      if (known !== undefined) return known;
      const method = (...words: unknown[]) => ask(() => value.apply(target, words), store, name, observe);
      methods.set(name, method);
      return method;
    },
  });
}

function ask(call: () => unknown, store: string, operation: string, observe: StoreObserver): unknown {
  const startMs = performance.now();
  const seconds = () => (performance.now() - startMs) / 1000;
  const failed = (error: unknown) => {
    observe(store, operation, seconds(), error instanceof Error ? error.name : 'unknown');
    throw error;
  };
  const answer = call();
  if (!(answer instanceof Promise)) return answer;
  return answer.then((value) => {
    observe(store, operation, seconds(), null);
    return value;
  }, failed);
}

import type { Documents } from './documents/port.ts';
import type { Stores } from './open.ts';
import { type Around, wrapped } from './wrapped.ts';

/** Hears of every question of one kind: how long it took, and the name of the error that it ended with, if any. */
type QuestionObserver = (seconds: number, error: string | null) => void;
/** Gives the observer of an operation of a store; asked once per operation. */
type ObserverOf = (store: string, operation: string) => QuestionObserver;

/** Measures the duration of each query to the stores, for two readings of the clock per query. */
export function measured(stores: Stores, observerOf: ObserverOf): Stores {
  return {
    documents: measuredDocuments(stores.documents, observerOf),
    coordination: measuredPort('coordination', stores.coordination, observerOf),
    objects: measuredPort('objects', stores.objects, observerOf),
    close: () => stores.close(),
  };
}

function measuredDocuments(documents: Documents, observerOf: ObserverOf): Documents {
  const asked = measuredPort('documents', documents, observerOf);
  return {
    collection: async (spec) => measuredPort('documents', await documents.collection(spec), observerOf),
    ping: () => asked.ping(),
    close: () => documents.close(),
  };
}

/** A port whose methods are measured; what they answer and throw is passed on as it is. */
function measuredPort<P extends object>(store: string, port: P, observerOf: ObserverOf): P {
  return wrapped(port, (name) => measuring(observerOf(store, name)));
}

/** Returns the original promise, so callers do not wait for the measurement. */
function measuring(observe: QuestionObserver): Around {
  return (step) => {
    const startMs = performance.now();
    const answer = step();
    if (!(answer instanceof Promise)) return answer;
    const seconds = () => (performance.now() - startMs) / 1000;
    answer.then(
      () => observe(seconds(), null),
      (error) => observe(seconds(), error instanceof Error ? error.name : 'unknown'),
    );
    return answer;
  };
}

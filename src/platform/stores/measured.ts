import type { QueryObserver, StoreMeter } from '../metrics/stores.ts';
import type { Stores } from './open.ts';
import { type Around, wrapped, wrappedDocuments } from './wrapped.ts';

/** Measures the duration of each query to the stores, for two readings of the clock per query. */
export function measured(stores: Stores, observerOf: StoreMeter['observerOf']): Stores {
  const of = (store: string) => (operation: string) => measuring(observerOf(store, operation));
  return {
    documents: wrappedDocuments(stores.documents, of('documents')),
    coordination: wrapped(stores.coordination, of('coordination')),
    objects: wrapped(stores.objects, of('objects')),
    close: () => stores.close(),
  };
}

/** Returns the original promise, so callers do not wait for the measurement. */
function measuring(observe: QueryObserver): Around {
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

import { type QueryObserver, type StoreMeter, storeWaitTimeOfRequest } from '../metrics/stores.ts';
import type { Stores } from './open.ts';
import { type Interceptor, wrapDocuments, wrapMethods } from './wrapped.ts';

/** Measures each query to the stores: its duration, and how long the current request waits for it. */
export function meterStores(stores: Stores, observerOf: StoreMeter['observerOf']): Stores {
  const of = (store: string) => (operation: string) => measuring(observerOf(store, operation));
  return {
    documents: wrapDocuments(stores.documents, of('documents')),
    coordination: wrapMethods(stores.coordination, of('coordination')),
    objects: wrapMethods(stores.objects, of('objects')),
    close: () => stores.close(),
  };
}

/**
 * Returns a function that measures a query and returns its original promise, so that callers do not wait for the
 * measurement.
 */
function measuring(observe: QueryObserver): Interceptor {
  return (step) => {
    const startMs = performance.now();
    const answer = step();
    if (!(answer instanceof Promise)) return answer;
    const request = storeWaitTimeOfRequest();
    request?.began();
    const end = (error: string | null) => {
      request?.ended();
      observe((performance.now() - startMs) / 1000, error);
    };
    answer.then(
      () => end(null),
      (error) => end(error instanceof Error ? error.name : 'unknown'),
    );
    return answer;
  };
}

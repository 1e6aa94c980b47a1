import { AsyncLocalStorage } from 'node:async_hooks';
import { Counter } from 'prom-client';
import type { Stores } from '../stores/open.ts';
import { type StoreStepInterceptor, wrapDocuments, wrapMethods } from '../stores/store-timeout.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { DurationHistogram } from './durations.ts';

/** Records one query to a store: its duration in seconds, and the name of its error, if any. */
type QueryObserver = (seconds: number, error: string | null) => void;

const QUERY_BOUNDS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5];

/** The name of the error of a store that cannot be reached. */
const STORE_UNAVAILABLE_ERROR_NAME = 'StoreUnavailableError';

/** Measures queries to the stores, and adds each to the current trace. */
export class StoreMeter {
  readonly #tracing: Tracing;
  readonly #durations = new DurationHistogram({
    name: 'darkroom_store_duration_seconds',
    help: 'Time of a query to a store (documents, coordination or objects), as the calling process sees it.',
    labelNames: ['store', 'operation'],
    bounds: QUERY_BOUNDS_SECONDS,
  });
  readonly #errors = new Counter({
    name: 'darkroom_store_errors_total',
    help: 'Queries to a store that failed, by the name of the error; DuplicateKeyError: a unique index refused a duplicate.',
    labelNames: ['store', 'operation', 'error'],
  });
  /** The observers by store and operation; collections share them. */
  readonly #observers = new Map<string, QueryObserver>();

  constructor(tracing: Tracing) {
    this.#tracing = tracing;
  }

  /** Returns the observer of one operation of a store. */
  readonly observerOf = (store: string, operation: string): QueryObserver => {
    const name = `${store} ${operation}`;
    const known = this.#observers.get(name) ?? this.#createObserver(store, operation);
    this.#observers.set(name, known);
    return known;
  };

  #createObserver(store: string, operation: string): QueryObserver {
    const observe = this.#durations.createObserver({ store, operation });
    // Starting at zero lets an alert see the first failure as an increase.
    this.#errors.inc({ store, operation, error: STORE_UNAVAILABLE_ERROR_NAME }, 0);
    return (seconds, error) => {
      observe(seconds);
      if (error !== null) this.#errors.inc({ store, operation, error });
      if (this.#tracing.isOn)
        this.#tracing.parts([{ name: `${store} ${operation}`, startedAgoMs: seconds * 1000, endedAgoMs: 0 }]);
    };
  }
}

/**
 * The store time of the request to which the running code belongs; undefined for sweeps, claims and other background
 * work.
 */
export const storeTimeOfRequest = new AsyncLocalStorage<StoreWaitTime>();

/** The time that a request waits for stores. Time in which several queries run counts once. */
export class StoreWaitTime {
  readonly #nowMs: () => number;
  #running = 0;
  #sinceMs = 0;
  #totalMs = 0;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  recordCallStart(): void {
    if (this.#running === 0) this.#sinceMs = this.#nowMs();
    this.#running += 1;
  }

  recordCallEnd(): void {
    this.#running -= 1;
    if (this.#running === 0) this.#totalMs += this.#nowMs() - this.#sinceMs;
  }

  /** The seconds for which the request has waited for stores up to now. */
  seconds(): number {
    return (this.#totalMs + (this.#running === 0 ? 0 : this.#nowMs() - this.#sinceMs)) / 1_000;
  }
}

/** Wraps the stores, so that each query is measured: its duration, and how long the current request waits for it. */
export function meterStores(stores: Stores, observerOf: StoreMeter['observerOf']): Stores {
  const of = (store: string) => (operation: string) => measureQueries(observerOf(store, operation));
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
function measureQueries(observe: QueryObserver): StoreStepInterceptor {
  return (step) => {
    const startMs = performance.now();
    const answer = step();
    if (!(answer instanceof Promise)) return answer;
    const request = storeTimeOfRequest.getStore();
    request?.recordCallStart();
    const end = (error: string | null) => {
      request?.recordCallEnd();
      observe((performance.now() - startMs) / 1000, error);
    };
    answer.then(
      () => end(null),
      (error) => end(error instanceof Error ? error.name : 'unknown'),
    );
    return answer;
  };
}

import { Counter } from 'prom-client';
import type { Tracing } from '../tracing/tracing.ts';
import { createDurations } from './durations.ts';

/** Records one query: its duration, and the name of its error, if any. */
export type QueryObserver = (seconds: number, error: string | null) => void;

/** Measures queries to the stores, and adds each to the current trace. */
export interface StoreMeter {
  /** Returns the observer of one operation of a store. */
  observerOf(store: string, operation: string): QueryObserver;
}

const BOUNDS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5];

/** The error of a store that is away. */
const UNAVAILABLE = 'StoreUnavailableError';

export function createStoreMeter(tracing: Tracing): StoreMeter {
  const durations = createDurations({
    name: 'darkroom_store_duration_seconds',
    help: 'Time of a query to a store (documents, coordination or objects), as the calling process sees it.',
    labelNames: ['store', 'operation'],
    bounds: BOUNDS_SECONDS,
  });
  const errors = new Counter({
    name: 'darkroom_store_errors_total',
    help: 'Queries to a store that failed, by the name of the error; DuplicateKeyError: a unique index refused a duplicate.',
    labelNames: ['store', 'operation', 'error'],
  });
  /** The observers by store and operation; collections share them. */
  const observers = new Map<string, QueryObserver>();

  function newObserver(store: string, operation: string): QueryObserver {
    const observe = durations.observerOf({ store, operation });
    // Starting at zero lets an alert see the first failure as an increase.
    errors.inc({ store, operation, error: UNAVAILABLE }, 0);
    return (seconds, error) => {
      observe(seconds);
      if (error !== null) errors.inc({ store, operation, error });
      if (tracing.isOn)
        tracing.parts([{ name: `${store} ${operation}`, startedAgoMs: seconds * 1000, endedAgoMs: 0 }]);
    };
  }

  return {
    observerOf(store, operation) {
      const name = `${store} ${operation}`;
      const known = observers.get(name) ?? newObserver(store, operation);
      observers.set(name, known);
      return known;
    },
  };
}

import { Counter } from 'prom-client';
import type { Tracing } from '../tracing/tracing.ts';
import { createDurations } from './durations.ts';

/** Hears of every question of one kind: how long it took, and the name of the error that it ended with, if any. */
export type QuestionObserver = (seconds: number, error: string | null) => void;

/** Counts questions to the stores, and adds each to the present trace. */
export interface StoreMeter {
  /** The observer of one operation of a store; asked for once per operation. */
  observerOf(store: string, operation: string): QuestionObserver;
}

const BOUNDS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5];

export function createStoreMeter(tracing: Tracing): StoreMeter {
  const durations = createDurations({
    name: 'darkroom_store_duration_seconds',
    help: 'Time of a question to a store (documents, coordination or objects), as the asking process sees it.',
    labelNames: ['store', 'operation'],
    bounds: BOUNDS_SECONDS,
  });
  const errors = new Counter({
    name: 'darkroom_store_errors_total',
    help: 'Questions to a store that failed, by the name of the error; DuplicateKeyError says that a unique index refused a duplicate.',
    labelNames: ['store', 'operation', 'error'],
  });
  /** Collections share their operations. */
  const observers = new Map<string, QuestionObserver>();

  function newObserver(store: string, operation: string): QuestionObserver {
    const observe = durations.observerOf({ store, operation });
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

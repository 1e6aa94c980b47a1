import { Counter, Histogram } from 'prom-client';
import type { Tracing } from '../tracing/tracing.ts';

export interface StoreMeter {
  /** One question to a store that was answered, or failed with an error of this name. */
  asked(store: string, operation: string, seconds: number, error: string | null): void;
}

const BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5];

/** Counts questions to the stores, and adds each to the present trace. */
export function createStoreMeter(tracing: Tracing): StoreMeter {
  const durations = new Histogram({
    name: 'darkroom_store_duration_seconds',
    help: 'Time of a question to a store (documents, coordination or objects), as the asking process sees it.',
    labelNames: ['store', 'operation'],
    buckets: BUCKETS_SECONDS,
  });
  const errors = new Counter({
    name: 'darkroom_store_errors_total',
    help: 'Questions to a store that failed, by the name of the error; DuplicateKeyError is a law that held.',
    labelNames: ['store', 'operation', 'error'],
  });
  return {
    asked(store, operation, seconds, error) {
      durations.observe({ store, operation }, seconds);
      if (error !== null) errors.inc({ store, operation, error });
      if (tracing.isOn)
        tracing.parts([{ name: `${store} ${operation}`, startedAgoMs: seconds * 1000, endedAgoMs: 0 }]);
    },
  };
}

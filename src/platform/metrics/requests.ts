import { Counter } from 'prom-client';
import { DurationHistogram, type DurationObserver } from './durations.ts';

/** One HTTP response, as the metrics count it. */
interface AnsweredRequest {
  method: string;
  /** The pattern of the route, never the path of the request. */
  route: string;
  status: number;
  /** The duration, without a wait that the caller asked for. */
  seconds: number;
  /** The part of the duration for which the request waited for stores. */
  storeSeconds: number;
  /** The code of a refusal, and its sub-reason (`details.reason`). */
  refusal?: { code: string; reason: string };
}

const REQUEST_DURATION_BOUNDS_SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

/** The route of requests for unknown paths. */
export const NO_ROUTE_LABEL = 'none';
/**
 * The sub-reasons for which an operator may set an alert. Their counters start at zero, so that an alert sees the first
 * refusal as an increase.
 */
const ALERTED_REASONS = ['capacity', 'deadline_exceeded'];

/**
 * The series of a route. They are kept, because the Prometheus client builds a key from the labels at each lookup.
 */
interface RouteSeries {
  waits: Counter.Internal;
  /** The observers of the duration, by method and status. */
  observers: Map<string, Map<number, DurationObserver>>;
}

export class RequestMeter {
  readonly #durations = new DurationHistogram({
    name: 'darkroom_request_duration_seconds',
    help: 'Time from the request to the end of its answer, without the wait for the end of a job that the caller asked for.',
    labelNames: ['method', 'route', 'status'],
    bounds: REQUEST_DURATION_BOUNDS_SECONDS,
  });
  readonly #refusals = new Counter({
    name: 'darkroom_refusals_total',
    help: 'Answers with an error, by its code and sub-reason.',
    labelNames: ['route', 'code', 'reason'],
  });
  readonly #waits = new Counter({
    name: 'darkroom_request_store_seconds_total',
    help: 'Time in which requests waited for stores, as a part of their duration; queries side by side count once.',
    labelNames: ['route'],
  });
  readonly #errors = new Counter({
    name: 'darkroom_server_errors_total',
    help: 'Answers with status 500: a store was away, a disk was full, or the service has a fault.',
  });
  /**
   * The series of each route. Their number is limited, because neither a route nor a method nor a status is a text of
   * the caller.
   */
  readonly #routes = new Map<string, RouteSeries>();

  constructor() {
    this.#startRefusalsAtZero(NO_ROUTE_LABEL);
  }

  recordResponse({ method, route, status, seconds, storeSeconds, refusal }: AnsweredRequest): void {
    const { waits, observers } = this.#seriesOf(route);
    const ofMethod = getOrCreate(observers, method, () => new Map<number, DurationObserver>());
    const observe = getOrCreate(ofMethod, status, () =>
      this.#durations.createObserver({ method, route, status: String(status) }),
    );
    observe(seconds);
    waits.inc(storeSeconds);
    if (status === 500) this.#errors.inc();
    if (refusal !== undefined) this.#refusals.inc({ route, ...refusal });
  }

  #startRefusalsAtZero(route: string): void {
    for (const reason of ALERTED_REASONS)
      this.#refusals.inc({ route, code: 'provider_unavailable', reason }, 0);
  }

  #seriesOf(route: string): RouteSeries {
    return getOrCreate(this.#routes, route, () => {
      this.#startRefusalsAtZero(route);
      return { waits: this.#waits.labels(route), observers: new Map() };
    });
  }
}

/** The value of a key, created when it is missing. */
function getOrCreate<K, V>(values: Map<K, V>, key: K, make: () => V): V {
  const known = values.get(key);
  if (known !== undefined) return known;
  const made = make();
  values.set(key, made);
  return made;
}

import { Counter } from 'prom-client';
import { createDurations, type Observer } from './durations.ts';

/** One answer over HTTP. */
interface Answered {
  method: string;
  /** The route's pattern, never the path that was sent. */
  route: string;
  status: number;
  seconds: number;
  /** The error's code and sub-reason, where the answer was one. */
  refusal?: { code: string; reason: string };
}

export interface RequestMeter {
  answered(answer: Answered): void;
}

const BOUNDS_SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

/** The sub-reasons that alerts watch: each route counts them from zero, so that the first refusal is a step. */
const ALERTED_REASONS = ['capacity', 'deadline_exceeded'];

export function createRequestMeter(): RequestMeter {
  const durations = createDurations({
    name: 'darkroom_request_duration_seconds',
    help: 'Time from the request to the end of its answer.',
    labelNames: ['method', 'route', 'status'],
    bounds: BOUNDS_SECONDS,
  });
  const refusals = new Counter({
    name: 'darkroom_refusals_total',
    help: 'Answers with an error, by its code and sub-reason.',
    labelNames: ['route', 'code', 'reason'],
  });
  /** By route, method and status: as many as the interface has, because nothing of them is a caller's text. */
  const observers = new Map<string, Map<string, Map<number, Observer>>>();

  function observerOf(method: string, route: string, status: number): Observer {
    const ofRoute = kept(observers, route, () => {
      for (const reason of ALERTED_REASONS) refusals.inc({ route, code: 'provider_unavailable', reason }, 0);
      return new Map<string, Map<number, Observer>>();
    });
    const ofMethod = kept(ofRoute, method, () => new Map<number, Observer>());
    return kept(ofMethod, status, () => durations.observerOf({ method, route, status: String(status) }));
  }

  return {
    answered({ method, route, status, seconds, refusal }) {
      observerOf(method, route, status)(seconds);
      if (refusal !== undefined) refusals.inc({ route, ...refusal });
    },
  };
}

/** The value under a key, made when it is asked for first. */
function kept<K, V>(values: Map<K, V>, key: K, make: () => V): V {
  const known = values.get(key);
  if (known !== undefined) return known;
  const made = make();
  values.set(key, made);
  return made;
}

import { Counter, Histogram } from 'prom-client';

/** One answer over HTTP. */
export interface Answered {
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

const BUCKETS_SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

export function createRequestMeter(): RequestMeter {
  const durations = new Histogram({
    name: 'darkroom_request_duration_seconds',
    help: 'Time from the request to the end of its answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS_SECONDS,
  });
  const refusals = new Counter({
    name: 'darkroom_refusals_total',
    help: 'Answers with an error, by its code and sub-reason.',
    labelNames: ['route', 'code', 'reason'],
  });
  return {
    answered({ method, route, status, seconds, refusal }) {
      durations.observe({ method, route, status: String(status) }, seconds);
      if (refusal !== undefined) refusals.inc({ route, ...refusal });
    },
  };
}

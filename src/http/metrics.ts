import type { FastifyInstance } from 'fastify';
import { Counter, collectDefaultMetrics, Gauge, Histogram, register } from 'prom-client';
import { refusalOf } from './failures.ts';

export interface PoolStats {
  threads: number;
  busy: number;
  queued: number;
  /** Mean wait of the last calls, in milliseconds. */
  waitMs: number;
}

export interface MetricsOptions {
  /** The pools of this process, by name. */
  pools: Record<string, () => PoolStats>;
  /** The text of every process together. */
  collect: () => Promise<string>;
}

const DURATION_BUCKETS_SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

/** Measures every answer by route and status, the pools at each scrape, and serves /metrics for Prometheus. */
export function installMetrics(app: FastifyInstance, options: MetricsOptions): void {
  register.clear();
  collectDefaultMetrics();
  const durations = new Histogram({
    name: 'darkroom_request_duration_seconds',
    help: 'Time from the request to the end of its answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: DURATION_BUCKETS_SECONDS,
  });
  const refusals = new Counter({
    name: 'darkroom_refusals_total',
    help: 'Answers with an error, by its code and sub-reason.',
    labelNames: ['route', 'code', 'reason'],
  });
  declarePoolGauges(options.pools);

  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none';
    const status = String(reply.statusCode);
    durations.observe({ method: request.method, route, status }, reply.elapsedTime / 1000);
    const refusal = refusalOf(request);
    if (refusal !== undefined) {
      refusals.inc({ route, code: refusal.code, reason: String(refusal.details?.reason ?? '') });
    }
  });

  app.get(
    '/metrics',
    { config: { answers: 'text/plain' }, schema: { summary: 'Metrics for Prometheus', tags: ['Health'] } },
    async (_request, reply) => {
      return reply.type(register.contentType).send(await options.collect());
    },
  );
}

function declarePoolGauges(pools: MetricsOptions['pools']): void {
  const gauge = (name: string, help: string, read: (stats: PoolStats) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['pool'],
      collect() {
        for (const [pool, stats] of Object.entries(pools)) this.set({ pool }, read(stats()));
      },
    });
  gauge('darkroom_pool_threads', 'Threads of the pool.', (stats) => stats.threads);
  gauge('darkroom_pool_busy', 'Threads at work.', (stats) => stats.busy);
  gauge('darkroom_pool_queued', 'Calls that wait for a thread.', (stats) => stats.queued);
  gauge('darkroom_pool_wait_seconds', 'Mean wait of the last calls.', (stats) => stats.waitMs / 1000);
}

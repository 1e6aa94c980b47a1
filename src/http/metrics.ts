import type { FastifyInstance } from 'fastify';
import { register } from 'prom-client';
import type { RequestMeter } from '../metrics/requests.ts';
import { refusalOf } from './failures.ts';

export interface MetricsOptions {
  requests: RequestMeter;
  /** The text of every process together. */
  collect: () => Promise<string>;
}

/** Measures every answer by route and status, and serves /metrics for Prometheus. */
export function installMetrics(app: FastifyInstance, { requests, collect }: MetricsOptions): void {
  app.addHook('onResponse', async (request, reply) => {
    const refusal = refusalOf(request);
    requests.answered({
      method: request.method,
      route: request.routeOptions.url ?? 'none',
      status: reply.statusCode,
      seconds: reply.elapsedTime / 1000,
      ...(refusal !== undefined && {
        refusal: { code: refusal.code, reason: String(refusal.details?.reason ?? '') },
      }),
    });
  });

  app.get(
    '/metrics',
    {
      config: { answers: 'text/plain', compress: true },
      schema: { summary: 'Metrics for Prometheus', tags: ['Health'] },
    },
    async (_request, reply) => reply.type(register.contentType).send(await collect()),
  );
}

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { register } from 'prom-client';
import { NO_ROUTE_LABEL, type RequestMeter } from '../../metrics/requests.ts';
import { StoreWaitTime, storeTimeOfRequest } from '../../metrics/stores.ts';
import type { RequestSpan, Tracing } from '../../tracing/tracing.ts';
import { ApiError } from '../errors/errors.ts';
import { recordedErrorOf } from '../errors/failures.ts';
import { isSecret } from '../signatures.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** How long the request has waited for stores; null before its first hook. */
    storeTime: StoreWaitTime | null;
    /**
     * The time for which the request waited because its caller asked for it, such as for the end of a job. The metrics
     * leave it out of the duration.
     */
    requestedWaitSeconds: number;
  }
}

interface HttpMetricsOptions {
  requests: RequestMeter;
  /** Returns the metrics of all processes as text. */
  collect: () => Promise<string>;
  /** METRICS_PORT; 0 serves the metrics on the port of the interface. */
  port: number;
  /** METRICS_TOKEN; without it, the metrics are public. */
  token: string;
}

/** Measures every response by route and status, and serves /metrics for Prometheus unless /metrics has its own port. */
export function installRequestMetrics(
  app: FastifyInstance,
  { requests, collect, port, token }: HttpMetricsOptions,
): void {
  app.decorateRequest('storeTime', null);
  app.decorateRequest('requestedWaitSeconds', 0);
  app.addHook('onRequest', (request, _reply, done) => {
    request.storeTime = new StoreWaitTime();
    storeTimeOfRequest.run(request.storeTime, done);
  });
  // A body arrives in events of the connection, which do not run in the async context of the request. The hooks after
  // it are therefore started in that context again. No GET has a body, and a change of the context costs as much as
  // several hooks.
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.storeTime === null || request.method === 'GET') done();
    else storeTimeOfRequest.run(request.storeTime, done);
  });
  app.addHook('onResponse', (request, reply, done) => {
    const refusal = recordedErrorOf(request);
    requests.recordResponse({
      method: request.method,
      route: request.routeOptions.url ?? NO_ROUTE_LABEL,
      status: reply.statusCode,
      seconds: Math.max(0, reply.elapsedTime / 1000 - request.requestedWaitSeconds),
      storeSeconds: request.storeTime?.seconds() ?? 0,
      ...(refusal !== undefined && {
        refusal: { code: refusal.code, reason: String(refusal.details?.reason ?? '') },
      }),
    });
    done();
  });
  if (port !== 0) return;

  app.get(
    '/metrics',
    {
      config: { responseType: 'text/plain', compress: true },
      schema: {
        summary: 'Metrics for Prometheus',
        description: 'In its text format, behind the token of the metrics if one is set.',
      },
    },
    async (request, reply) => {
      if (!mayReadMetrics(request.headers.authorization, token)) {
        const message = 'The metrics are read with METRICS_TOKEN: send "Authorization: Bearer TOKEN".';
        const headers = { 'www-authenticate': 'Bearer realm="metrics"' };
        throw new ApiError('unauthorized', message, { headers });
      }
      return reply.type(register.contentType).send(await collect());
    },
  );
}

/**
 * Serves /metrics, and nothing else, on its own port. The primary serves it, because an API process that hangs would
 * not answer a connection that it had accepted.
 */
export async function serveMetrics(
  { collect, port, token }: Pick<HttpMetricsOptions, 'collect' | 'port' | 'token'>,
  host: string,
): Promise<Server> {
  const server = createServer(async (request, response) => {
    response.setHeader('cache-control', 'no-store');
    if (request.url?.split('?')[0] !== '/metrics') return void response.writeHead(404).end();
    if (!mayReadMetrics(request.headers.authorization, token)) {
      return void response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
    }
    try {
      const text = await collect();
      response.writeHead(200, { 'content-type': register.contentType }).end(text);
    } catch {
      response.writeHead(500).end();
    }
  });
  await once(server.listen(port, host), 'listening');
  return server;
}

/** Whether an Authorization header contains the token. True for any header if no token is set. */
function mayReadMetrics(authorization: string | undefined, token: string): boolean {
  return token === '' || isSecret(authorization?.replace(/^bearer +/i, '') ?? '', token);
}

/**
 * Gives each request a span, as a child of the caller's traceparent if there is one. It does nothing without tracing.
 */
export function installTracing(app: FastifyInstance, tracing: Tracing): void {
  if (!tracing.isOn) return;
  const spans = new WeakMap<FastifyRequest, RequestSpan>();

  // This hook takes a callback, so that all later hooks run within the context of the span.
  app.addHook('onRequest', (request, _reply, done) => {
    const { traceparent } = request.headers;
    const parent = typeof traceparent === 'string' ? traceparent : undefined;
    const facts = { 'http.request.method': request.method, 'darkroom.request_id': request.id };
    spans.set(request, tracing.request(parent, facts, done));
  });

  app.addHook('onResponse', async (request, reply) => {
    const facts = {
      'http.route': request.routeOptions.url ?? 'none',
      'http.response.status_code': reply.statusCode,
    };
    spans.get(request)?.end(facts, reply.statusCode >= 500);
  });
}

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RequestSpan, Tracing } from '../../tracing/tracing.ts';

/** Gives each request a span, below the caller's traceparent if there is one. It does nothing without tracing. */
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

import type { FastifyInstance } from 'fastify';
import { refusalOf } from '../refusals/failures.ts';

/** Asked every few seconds by machines that look at the answer alone. */
const PROBES = ['/healthz', '/readyz', '/metrics'];

/** One line an answer: what was called, how it ended, how long it took, and why it was refused. Never a header. */
export function installAccessLog(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => {
    const refusal = refusalOf(request);
    const line = {
      method: request.method,
      route: request.routeOptions.url ?? null,
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime * 10) / 10,
      ...(refusal === undefined
        ? {}
        : {
            code: refusal.code,
            param: refusal.param,
            reason: refusal.details?.reason,
            cause: refusal.cause instanceof Error ? refusal.cause.message : undefined,
          }),
    };
    if (reply.statusCode >= 500) request.log.error(line, 'answered');
    else if (PROBES.includes(line.route ?? '')) request.log.debug(line, 'answered');
    else request.log.info(line, 'answered');
  });
}

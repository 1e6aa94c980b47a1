import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Coordination } from '../../stores/coordination/port.ts';
import { clientNetworkOf } from '../connection/client-network.ts';
import { ApiError } from '../errors/errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Whether calls of the route are not counted: a cache before this service makes those of many readers, and one page
     * makes several for its files.
     */
    isUncounted?: true;
  }
}

const WINDOW_MS = 60_000;
/** Probes have no limit, because the operator's own systems call them. */
const PROBES = ['/healthz', '/readyz'];

interface OpenPathsOptions {
  coordination: Coordination;
  hostId: string;
  requestsPerMinute: number;
}

/**
 * Counts public reads outside the interface (documentation, metrics, signed results) in the rate window of the address,
 * like anonymous calls of the interface, which the gate counts.
 */
export function countOpenPathCalls(app: FastifyInstance, options: OpenPathsOptions): void {
  const { coordination, hostId, requestsPerMinute } = options;
  app.addHook('onRequest', (request, _reply, done) => {
    const { url = '', config } = request.routeOptions;
    const isCounted = !url.startsWith('/api/') && !PROBES.includes(url) && !config?.isUncounted;
    if (isCounted) return count(request);
    done();
  });

  async function count(request: FastifyRequest): Promise<void> {
    const key = `${hostId}/${clientNetworkOf(request.ip)}`;
    const question = { rate: { key, limit: requestsPerMinute, windowMs: WINDOW_MS } };
    // The metrics must be readable while a store is unavailable.
    const answer = await coordination.admit(question).catch(() => null);
    const rate = answer?.rate;
    if (rate == null || rate.allowed) return;
    throw new ApiError('rate_limited', 'Too many requests in this minute: wait for Retry-After seconds.', {
      details: { reason: 'request_rate' },
      retryAfterSeconds: rate.resetMs / 1000,
    });
  }
}

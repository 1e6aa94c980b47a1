import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Coordination } from '../../stores/coordination/port.ts';
import { networkOf } from '../connection/client-network.ts';
import { ApiError } from '../errors.ts';

const WINDOW_MS = 60_000;
/** Probes are asked by the host's own keepers, at their own pace. */
const PROBES = ['/healthz', '/readyz'];

interface OpenPathsOptions {
  coordination: Coordination;
  hostId: string;
  requestsPerMinute: number;
}

/**
 * What is read without a credential outside of the interface (documentation, metrics, signed results) counts in the
 * window of the address, as an anonymous call of the interface does; the gate counts those below /api.
 */
export function countOpenPaths(app: FastifyInstance, options: OpenPathsOptions): void {
  const { coordination, hostId, requestsPerMinute } = options;
  app.addHook('onRequest', (request, _reply, done) => {
    const isCounted = !request.url.startsWith('/api/') && !PROBES.includes(request.routeOptions.url ?? '');
    if (isCounted) return count(request);
    done();
  });

  async function count(request: FastifyRequest): Promise<void> {
    const key = `${hostId}/${networkOf(request.ip)}`;
    const question = { rate: { key, limit: requestsPerMinute, windowMs: WINDOW_MS } };
    // The metrics must be readable while a store is away.
    const answer = await coordination.admit(question).catch(() => null);
    const rate = answer?.rate;
    if (rate == null || rate.allowed) return;
    throw new ApiError('rate_limited', 'Too many requests in this minute: wait for Retry-After seconds.', {
      details: { reason: 'request_rate' },
      retryAfterSeconds: rate.resetMs / 1000,
    });
  }
}

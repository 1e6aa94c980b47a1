import { setTimeout as sleep } from 'node:timers/promises';
import { type Static, Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Coordination } from '../stores/coordination/port.ts';
import { clientNetworkOf } from './connection/client.ts';
import { ApiError } from './errors/errors.ts';

/** The links for a program that knows only the address of the service. */
const HOME_LINKS = {
  documentation: '/docs/',
  console: '/console',
  openapi: '/openapi.json',
  llms: '/llms.txt',
  guidelines: '/docs/guidelines.md',
  errors: '/docs/errors.md',
  catalogue: '/api/v1/ops',
  health: '/healthz',
};

/** Serves GET /: a browser is redirected to the documentation, and a program gets the links. */
export async function homeRoutes(
  app: FastifyInstance,
  { publicUrl }: { publicUrl: () => string },
): Promise<void> {
  app.get('/', { config: { responseType: 'text/html' }, schema: { hide: true } }, async (request, reply) => {
    if (request.headers.accept?.includes('text/html')) return reply.redirect('/docs/', 302);
    const absolute = Object.entries(HOME_LINKS).map(([name, path]) => [name, publicUrl() + path]);
    return { service: 'Darkroom', ...Object.fromEntries(absolute) };
  });
}

interface HealthOptions {
  /**
   * The checks of all parts that must work before traffic is sent to this process. A check rejects when its part fails.
   */
  checks: Record<string, () => Promise<unknown>>;
  /** Warnings for the operator although every part works, one sentence each. */
  remarks: () => Promise<string[]>;
  /** The difference between the clock of this host and the shared clock, in whole milliseconds. */
  clockDifferenceMs: () => number;
  /** The reason why this process accepts no calls now, such as "is draining"; null when it accepts them. */
  closedBecause: () => string | null;
  checkTimeoutMs: number;
}

const LivenessReport = Type.Object({ status: Type.Literal('ok') });

const HealthReport = Type.Object({
  status: Type.Union([Type.Literal('ok'), Type.Literal('failing')]),
  parts: Type.Record(Type.String(), Type.String(), {
    description: 'The state of each part: `ok`, `failing`, or that it did not answer in time.',
  }),
  clockDifferenceMs: Type.Optional(
    Type.Integer({
      description:
        'Milliseconds by which the shared clock is ahead of the clock of this host; negative when it is late.',
    }),
  ),
  remarks: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Problems that an operator should know of, although every part answers.',
    }),
  ),
});
type HealthReport = Static<typeof HealthReport>;

/**
 * Serves /healthz: whether the process responds, and /readyz: whether every part works; a 503 names the failing parts.
 */
export async function healthRoutes(app: FastifyInstance, options: HealthOptions): Promise<void> {
  app.get(
    '/healthz',
    {
      schema: {
        summary: 'The process answers',
        description: 'Says nothing of the stores and pools behind it: for a liveness probe.',
        response: { 200: LivenessReport },
      },
    },
    async () => ({ status: 'ok' as const }),
  );

  app.get(
    '/readyz',
    {
      schema: {
        summary: 'Every part answers',
        description:
          'Names each store and pool with its state; 503 when one is away, or when the process is starting or ending: for a readiness probe.',
        response: { 200: HealthReport, 503: HealthReport },
      },
    },
    async (_request, reply) => {
      const closed = options.closedBecause();
      const health = closed === null ? await readHealth(options) : notReadyReport(closed);
      // No cache may keep this response, because it is true of this moment only.
      return reply
        .code(health.status === 'ok' ? 200 : 503)
        .header('cache-control', 'no-store')
        .send(health);
    },
  );
}

function notReadyReport(because: string): HealthReport {
  return { status: 'failing', parts: { process: because } };
}

async function readHealth(options: HealthOptions): Promise<HealthReport> {
  const { checks, checkTimeoutMs, clockDifferenceMs, remarks } = options;
  const parts = await Promise.all(
    Object.entries(checks).map(
      async ([name, check]) => [name, await readPartState(check, checkTimeoutMs)] as const,
    ),
  );
  const status = parts.every(([, result]) => result === 'ok') ? 'ok' : 'failing';
  const warnings = await remarks();
  return {
    status,
    parts: Object.fromEntries(parts),
    clockDifferenceMs: clockDifferenceMs(),
    ...(warnings.length > 0 && { remarks: warnings }),
  };
}

/**
 * The state of a part: `ok`, `failing`, or a text that says that it did not answer in time. Reasons are only logged,
 * because the response is public.
 */
async function readPartState(check: () => Promise<unknown>, timeoutMs: number): Promise<string> {
  const ended = new AbortController();
  const timeout = sleep(timeoutMs, `did not answer within ${timeoutMs} ms`, { signal: ended.signal });
  try {
    return await Promise.race([check().then(() => 'ok'), timeout]);
  } catch {
    return 'failing';
  } finally {
    ended.abort();
  }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Whether calls of the route are not counted in the rate window. A cache in front of this service makes the calls
     * of many readers, and one page makes several calls for its files.
     */
    isUncounted?: true;
  }
}

const RATE_WINDOW_MS = 60_000;
/** Probes have no limit, because the operator's own systems call them. */
const PROBE_PATHS = ['/healthz', '/readyz'];

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
    const isCounted = !url.startsWith('/api/') && !PROBE_PATHS.includes(url) && !config?.isUncounted;
    if (isCounted) return countOpenPathCall(request);
    done();
  });

  async function countOpenPathCall(request: FastifyRequest): Promise<void> {
    const key = `${hostId}/${clientNetworkOf(request.ip)}`;
    const question = { rate: { key, limit: requestsPerMinute, windowMs: RATE_WINDOW_MS } };
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

import { setTimeout as sleep } from 'node:timers/promises';
import { type Static, Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';

interface HealthOptions {
  /**
   * The checks of all parts that must work before traffic is sent to this process. A check rejects when its part fails.
   */
  checks: Record<string, () => Promise<unknown>>;
  /** Warnings for the operator although every part works, one sentence each. */
  remarks: () => Promise<string[]>;
  /** The difference between the clock of this host and the shared clock, in whole milliseconds. */
  clockDifferenceMs: () => number;
  /** Why this process takes no calls now, such as "is draining"; null when it takes them. */
  closedBecause: () => string | null;
  checkTimeoutMs: number;
}

const Alive = Type.Object({ status: Type.Literal('ok') });

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
        response: { 200: Alive },
      },
    },
    async () => ({
      status: 'ok' as const,
    }),
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
      const health = closed === null ? await readHealth(options) : closedHealth(closed);
      // What is true of this moment is kept by no cache.
      return reply
        .code(health.status === 'ok' ? 200 : 503)
        .header('cache-control', 'no-store')
        .send(health);
    },
  );
}

function closedHealth(because: string): HealthReport {
  return { status: 'failing', parts: { process: because } };
}

async function readHealth({
  checks,
  checkTimeoutMs,
  clockDifferenceMs,
  remarks,
}: HealthOptions): Promise<HealthReport> {
  const parts = await Promise.all(
    Object.entries(checks).map(
      async ([name, check]) => [name, await outcome(check, checkTimeoutMs)] as const,
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

/** The state of a part: `ok`, `failing` or its timeout. Reasons are only logged, because the response is public. */
async function outcome(check: () => Promise<unknown>, timeoutMs: number): Promise<string> {
  const ended = new AbortController();
  const late = sleep(timeoutMs, `did not answer within ${timeoutMs} ms`, { signal: ended.signal });
  try {
    return await Promise.race([check().then(() => 'ok'), late]);
  } catch {
    return 'failing';
  } finally {
    ended.abort();
  }
}

import type { FastifyInstance, RouteOptions } from 'fastify';
import { addWarnings } from './warnings.ts';

/** Answers that failed say themselves what is wrong. */
const FIRST_FAILURE_STATUS = 400;

/**
 * Names the fields of a query that the route does not read, as `ignored_parameter:<name>` in `X-Service-Warnings` of an
 * answer that succeeds: a misspelt field is ignored, but not in silence. Routes that check their query themselves
 * refuse it.
 */
export function installIgnoredQuery(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (route.validatorCompiler !== undefined) return;
    const known = knownNames(route);
    route.onSend = [
      ...[route.onSend ?? []].flat(),
      (request, reply, _payload, done) => {
        if (request.url.includes('?') && reply.statusCode < FIRST_FAILURE_STATUS) {
          const ignored = Object.keys(request.query as object).filter((name) => !known.has(name));
          addWarnings(
            reply,
            ignored.map((name) => ({ code: 'ignored_parameter', name })),
          );
        }
        done();
      },
    ];
  });
}

function knownNames({ schema }: RouteOptions): ReadonlySet<string> {
  const query = schema?.querystring as { properties?: object } | undefined;
  return new Set(Object.keys(query?.properties ?? {}));
}

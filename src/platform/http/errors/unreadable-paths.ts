import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ApiError } from './errors.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Makes the error for paths that cannot be decoded, by the prefix of these paths. */
    unreadablePaths: Map<string, () => ApiError>;
  }
}

/**
 * Lets a prefix declare how paths with malformed percent-encoding are refused. Such a path reaches no route and no
 * hook. It is 400 if nothing is declared.
 */
export function installUnreadablePaths(app: FastifyInstance): void {
  app.decorate('unreadablePaths', new Map());
}

/** Refuses malformed paths below a prefix in the way in which other wrong paths are refused there. */
export function refuseUnreadablePaths(app: FastifyInstance, prefix: string, refusal: () => ApiError): void {
  app.unreadablePaths.set(prefix, refusal);
}

/** The declared error for the path of a request; undefined if none is declared. */
export function findPathRefusal({ server, url }: FastifyRequest): ApiError | undefined {
  for (const [prefix, refusal] of server.unreadablePaths) if (url.startsWith(prefix)) return refusal();
  return undefined;
}

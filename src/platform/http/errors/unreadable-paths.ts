import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ApiError } from './errors.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** The refusals of paths that cannot be decoded, by the prefix of these paths. */
    unreadablePaths: Map<string, () => ApiError>;
  }
}

/**
 * Lets prefixes declare how paths are refused whose percent-encoding is malformed. Such a path reaches no route and no
 * hook, and is 400 where nothing is declared.
 */
export function installUnreadablePaths(app: FastifyInstance): void {
  app.decorate('unreadablePaths', new Map());
}

/** Refuses such paths below a prefix as wrong paths are refused there. */
export function refuseUnreadablePaths(app: FastifyInstance, prefix: string, refusal: () => ApiError): void {
  app.unreadablePaths.set(prefix, refusal);
}

/** The refusal that is declared for the path of a request; undefined without one. */
export function findPathRefusal({ server, url }: FastifyRequest): ApiError | undefined {
  for (const [prefix, refusal] of server.unreadablePaths) if (url.startsWith(prefix)) return refusal();
  return undefined;
}

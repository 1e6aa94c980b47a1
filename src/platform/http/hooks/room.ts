import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The call stores documents that stay: it is refused while the disk is full. A function decides by the request. */
    needsRoom?: true | ((request: FastifyRequest) => boolean);
  }
}

/**
 * Refuses calls that need room on the disk before their bodies are parsed. Install after the hook that replays answers
 * under an Idempotency-Key: a replay stores nothing.
 * @param checkRoom throws StorageFullError while the disk is full but for its reserve.
 */
export function installRoom(app: FastifyInstance, checkRoom: () => Promise<void>): void {
  app.addHook('preValidation', (request, _reply, done) => {
    const { needsRoom } = request.routeOptions.config;
    if (typeof needsRoom === 'function' ? needsRoom(request) : needsRoom === true) return checkRoom();
    done();
  });
}

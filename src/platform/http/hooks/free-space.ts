import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Whether the call stores lasting documents, and is therefore refused while the disk is full. A function decides it
     * for each request.
     */
    needsFreeSpace?: true | ((request: FastifyRequest) => boolean);
  }
}

/**
 * Refuses calls that store documents while the disk is full, before their bodies are parsed. Install it after the hook
 * that replays responses for an Idempotency-Key, because a replay stores nothing.
 * @param checkFreeSpace throws StorageFullError while only the reserve of the disk is free.
 */
export function installFreeSpaceCheck(app: FastifyInstance, checkFreeSpace: () => Promise<void>): void {
  app.addHook('preValidation', (request, _reply, done) => {
    const { needsFreeSpace } = request.routeOptions.config;
    if (typeof needsFreeSpace === 'function' ? needsFreeSpace(request) : needsFreeSpace === true)
      return checkFreeSpace();
    done();
  });
}

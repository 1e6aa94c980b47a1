import type { FastifyInstance } from 'fastify';

const WARNING =
  'X-Forwarded-For came with a request, but TRUST_PROXY is not set: all callers of a proxy count as one address, and one of them can lock the others out. Set TRUST_PROXY to the address of the proxy; if there is no proxy, ignore this warning.';

/** Warns once per process when a proxy seems to stand before a service that trusts none. */
export function warnOfUntrustedProxy(app: FastifyInstance, trustProxy: string): void {
  if (trustProxy !== '') return;
  let hasWarned = false;
  app.addHook('onRequest', (request, _reply, done) => {
    if (!hasWarned && request.headers['x-forwarded-for'] !== undefined) {
      hasWarned = true;
      app.log.warn(WARNING);
    }
    done();
  });
}

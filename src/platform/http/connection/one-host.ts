import type { FastifyInstance } from 'fastify';
import { invalidParam } from '../errors/errors.ts';

/** Refuses two Host headers, because a proxy may use the first of them and the service the second. */
export function refuseSecondHost(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw: { rawHeaders } }, _reply, done) => {
    let hosts = 0;
    for (let index = 0; index < rawHeaders.length; index += 2) {
      if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === 'host') hosts += 1;
    }
    if (hosts > 1) throw invalidParam('Host', 'The header Host was sent more than once: send it once.');
    done();
  });
}

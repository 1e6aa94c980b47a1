import type { FastifyReply } from 'fastify';
import { invalidParamError } from '../errors/errors.ts';

/** A signal that aborts when the client disconnects before its response. */
export function clientGoneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  const end = () => {
    if (reply.raw.writableFinished) return;
    gone.abort(invalidParamError('body', 'The client closed the connection before its answer.'));
  };
  // A client that has already disconnected triggers no further event.
  if (reply.raw.destroyed) end();
  else reply.raw.once('close', end);
  return gone.signal;
}

import type { FastifyReply } from 'fastify';
import { type ApiError, invalidParam } from '../errors.ts';

/** Aborts when the client goes away before its answer. */
export function clientGoneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  const end = () => {
    if (!reply.raw.writableFinished) gone.abort(clientGone());
  };
  // A client that left before this closes nothing any more.
  if (reply.raw.destroyed) end();
  else reply.raw.once('close', end);
  return gone.signal;
}

function clientGone(): ApiError {
  return invalidParam('body', 'The client closed the connection before its answer.');
}
